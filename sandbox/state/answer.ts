import type { Assumptions, ErrorShape } from './settings.ts';

/** A handler's answer. The server adds Date, Content-Length and, by default, the content type application/json. */
export interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export function json(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, body: JSON.stringify(value), headers };
}

export function html(status: number, body: string): Answer {
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    // Has no form-action: browsers would apply it to the redirect after the form, which leads to the application.
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  };
  return { status, body, headers };
}

interface ServiceError {
  readonly status: number;
  /** For programs, for example `invalid_token`. */
  readonly code: string;
  /** For people. */
  readonly message: string;
  /** The invalid parameter or header. */
  readonly field?: string;
}

/** Each group of errors has an assumption of its own about their bodies. */
type ErrorGroup = keyof Assumptions['errorShapes'];

/** Thrown by handlers of the service, and answered by the listener. */
export class RefusedError extends Error {
  readonly group: ErrorGroup;
  readonly error: ServiceError;
  readonly headers: Answer['headers'];

  constructor(group: ErrorGroup, error: ServiceError, headers?: Answer['headers']) {
    super(error.message);
    this.group = group;
    this.error = error;
    this.headers = headers;
  }
}

/** An invalid parameter, field or header. @see partner-api.md §7 */
export function invalid(field: string, what = 'is not valid'): RefusedError {
  const message = `The parameter ${field} ${what}.`;
  return new RefusedError('validation', { status: 400, code: 'validation_error', message, field });
}

/**
 * Writes an error in one of the shapes that are known from services of this kind.
 * @see partner-api.md §7, which shows only `validation_error` and its `message`
 */
export function errorAnswer(shape: ErrorShape, { status, code, message, field }: ServiceError): Answer {
  const validation = field === undefined ? [] : [{ field, title: code, detail: message }];
  const nested = { error: { status, title: code, detail: message, validation } };
  const bodies: Readonly<Record<ErrorShape, unknown>> = {
    'flat-code': { code, message },
    'flat-error': { error: code, message },
    oauth: { error: code, error_description: message },
    nested,
    'nested-in-data': { data: nested },
    typed: { error: { type: code, message } },
    none: undefined,
  };
  return { status, body: shape === 'none' ? '' : JSON.stringify(bodies[shape]) };
}
