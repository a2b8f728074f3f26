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

/** Thrown by handlers of the service; the listener sends its answer. */
export class RefusedError extends Error {
  readonly answer: Answer;

  constructor(status: number, body: unknown, headers?: Answer['headers']) {
    super('refused');
    this.answer = answerWith(status, body, headers);
  }
}

/*
 * The error bodies are assumed, from services of this kind: partner-api.md §7 shows only `validation_error` and its
 * `message`. `code` is for programs, `message` for people.
 */

/** An invalid parameter, field or header, which the message names. */
export const invalid = (field: string, message = `The parameter ${field} is not valid.`): RefusedError =>
  new RefusedError(400, { code: 'validation_error', message });

/** Tokens and their endpoint, as in RFC 6749 §5.2. */
export const refused = (code: string, message: string, status = 400): RefusedError =>
  new RefusedError(status, { error: code, error_description: message });

/** 404, 405 and 410. */
export const notThere = (status: number, code: string, detail: string, headers?: Answer['headers']) =>
  new RefusedError(status, { error: { status, title: code, detail, validation: [] } }, headers);

/**
 * `mixed`: each error as above. `problem`: RFC 9457. `errors`: a list. `spring`: what Spring Boot answers by default.
 * `message`: nothing for programs. `empty`: no body.
 */
export const errorShapes = ['mixed', 'problem', 'errors', 'spring', 'message', 'empty'] as const;
export type ErrorShape = (typeof errorShapes)[number];

export function reshaped(answer: Answer, shape: ErrorShape, path: string): Answer {
  if (shape === 'mixed') return answer;
  const { status, headers } = answer;
  const said = JSON.parse(answer.body);
  const nested = typeof said.error === 'object' ? said.error : {};
  const code: string = said.code ?? nested.title ?? said.error;
  const message: string = said.message ?? nested.detail ?? said.error_description;
  const bodies = {
    problem: { type: 'about:blank', title: code, status, detail: message },
    errors: { errors: [{ code, message }] },
    spring: { timestamp: '2026-11-20T12:00:00.000+00:00', status, error: message, path },
    message: { message },
    empty: '',
  };
  const type = shape === 'problem' && { 'content-type': 'application/problem+json' };
  return answerWith(status, bodies[shape], { ...headers, ...type });
}
