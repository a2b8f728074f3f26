import { isErrorCode, withoutNamedValues } from './redacted-text.ts';
import { redacted, Secret } from './secret.ts';
import { decodedText } from './text/decoded-text.ts';
import { printableLines } from './text/printable.ts';

/**
 * The second protection: a {@link Secret} always prints as `[redacted]`; this module finds secrets that were never
 * wrapped.
 */
const secretKey = /(?:token|secret|secretstring|passw(?:or)?d|authorization|cookie|apikey)$/;

/** A one-time code is a secret, an error code is not. */
const isHarmlessCode = (value: unknown) =>
  typeof value === 'number' || (typeof value === 'string' && isErrorCode(value));

/** Returns `text` unchanged, or, if it contains values that are named as secrets, decoded and without these values. */
export function redactedText(text: string): string {
  const plain = decodedText(text);
  if (plain === undefined) return redacted;
  const clean = withoutNamedValues(plain);
  return clean === plain ? text : clean;
}

/**
 * Prepares `text` for a log: removes secrets, and escapes invisible and bidirectional characters that JSON does not
 * escape (C1, bidirectional, zero width) as `\uXXXX`.
 */
const loggedText = (text: string): string => printableLines(redactedText(text));

/**
 * A replacer for `JSON.stringify` of a log line: removes everything that looks like a token, by its key or by the text
 * before it, and makes every string printable.
 */
export function redact(key: string, value: unknown): unknown {
  if (value instanceof Secret) return redacted;
  if (value === undefined || value === null) return value;
  const name = key.replace(/[_-]/g, '').toLowerCase();
  if (secretKey.test(name) || (name === 'code' && !isHarmlessCode(value))) return redacted;
  return typeof value === 'string' ? loggedText(value) : value;
}

/** Maximum depth of causes; an error may even be its own cause. */
const maxDepth = 10;

/**
 * Copies `error` without secrets and unprintable characters in its message, stack, causes and other fields. Use it for
 * errors that leave the function, because Lambda logs a thrown error and returns it to the caller.
 *
 * @returns an Error with the name of the original, whatever its class; any other thrown value becomes an Error
 */
export function redactedError(error: unknown, depth = 0): Error {
  if (!(error instanceof Error)) return new Error(loggedText(String(error)));
  const { name, message, stack, cause, ...others } = error;
  const inside = (each: unknown, key = ''): unknown => {
    if (depth === maxDepth) return undefined;
    return each instanceof Error ? redactedError(each, depth + 1) : jsonOf(key, each);
  };
  const clean = new Error(loggedText(message));
  const define = (key: string, value: unknown) =>
    Object.defineProperty(clean, key, { value, configurable: true, writable: true });
  define('name', loggedText(name));
  define('stack', stack === undefined ? undefined : loggedText(stack));
  if (cause !== undefined) define('cause', inside(cause));
  if (error instanceof AggregateError)
    define(
      'errors',
      error.errors.map((each) => inside(each)),
    );
  for (const [key, value] of Object.entries(others)) Object.assign(clean, { [key]: inside(value, key) });
  return clean;
}

/** The redacted JSON form of the value of `key`. */
function jsonOf(key: string, value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify({ [key]: value }, redact))[key];
  } catch {
    // A circular structure, or a text beyond the maximum length.
    return redacted;
  }
}
