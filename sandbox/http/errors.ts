import type { Answer } from '../state/answer.ts';
import type { ErrorShape } from '../state/assumptions.ts';

export interface ServiceError {
  readonly status: number;
  /** For programs, for example `invalid_token`. */
  readonly code: string;
  /** For people. */
  readonly message: string;
  /** The invalid parameter or header. */
  readonly field?: string;
}

/**
 * Writes an error in one of the shapes that are known from services of this kind.
 * @see partner-api.md §7, which shows only `validation_error` and its `message`
 */
export function errorAnswer(shape: ErrorShape, error: ServiceError): Answer {
  const body = errorBody(shape, error);
  return { status: error.status, body: body === undefined ? '' : JSON.stringify(body) };
}

function errorBody(shape: ErrorShape, { status, code, message, field }: ServiceError): unknown {
  switch (shape) {
    case 'flat-code':
      return { code, message };
    case 'flat-error':
      return { error: code, message };
    case 'oauth':
      return { error: code, error_description: message };
    case 'nested':
      return nested(status, code, message, field);
    case 'nested-in-data':
      return { data: nested(status, code, message, field) };
    case 'typed':
      return { error: { type: code, message } };
    case 'none':
      return undefined;
  }
}

function nested(status: number, title: string, detail: string, field: string | undefined): unknown {
  const validation = field === undefined ? [] : [{ field, title, detail }];
  return { error: { status, title, detail, validation } };
}
