/** A handler's answer. The server adds Date, Content-Length and, by default, the content type application/json. */
export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** @param body a string is sent unchanged, anything else as JSON */
export function answerWith(status: number, body: unknown, headers: Answer['headers'] = {}): Answer {
  return { status, body: typeof body === 'string' ? body : (JSON.stringify(body) ?? ''), headers };
}

export const html = (status: number, body: string): Answer =>
  answerWith(status, body, {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    // Has no form-action: browsers would apply it to the redirect after the form, which leads to the application.
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  });

/** Each has a body of its own. `authorization`: 401 and 403; `notFound`: 404, 405 and 410. */
type ErrorGroup = 'validation' | 'authorization' | 'notFound' | 'token';

interface Refusal {
  readonly group: ErrorGroup;
  readonly status: number;
  /** For programs, for example `invalid_token`. */
  readonly code: string;
  /** For people. */
  readonly message: string;
  /** The invalid parameter or header. */
  readonly field?: string;
  readonly headers?: Answer['headers'];
}

/** Thrown by handlers of the service, and answered by the listener. */
export class RefusedError extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.message);
    this.refusal = refusal;
  }
}

/** An invalid parameter, field or header. @see partner-api.md §7 */
export function invalid(field: string, message = `The parameter ${field} is not valid.`): RefusedError {
  return new RefusedError({ group: 'validation', status: 400, code: 'validation_error', message, field });
}

/**
 * The bodies are assumed, from services of this kind.
 * @see partner-api.md §7, which shows only `validation_error` and its `message`
 */
export function errorAnswer({ group, status, code, message, field, headers }: Refusal): Answer {
  const validation = field === undefined ? [] : [{ field, title: code, detail: message }];
  const oauth = { error: code, error_description: message };
  const bodies: Readonly<Record<ErrorGroup, unknown>> = {
    validation: { code, message },
    authorization: oauth,
    notFound: { error: { status, title: code, detail: message, validation } },
    token: oauth,
  };
  return answerWith(status, bodies[group], headers);
}
