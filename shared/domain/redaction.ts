import { isErrorCode, withoutNamedValues } from './redacted-text.ts';
import { redacted, Secret } from './secret.ts';
import { decodedText } from './text/decoded-text.ts';
import { printableLines } from './text/printable.ts';

/**
 * The second net: a {@link Secret} prints as `[redacted]` by itself; this one catches what was never put into one.
 */
const secretKey = /(?:token|secret|secretstring|passw(?:or)?d|authorization|cookie|apikey)$/;

/** A one-time code is a secret, an error code is not. */
const isHarmlessCode = (value: unknown) =>
  typeof value === 'number' || (typeof value === 'string' && isErrorCode(value));

/** `text` as it is, or decoded and without the values that are named as secrets in it, where there are any. */
export function redactedText(text: string): string {
  const plain = decodedText(text);
  if (plain === undefined) return redacted;
  const clean = withoutNamedValues(plain);
  return clean === plain ? text : clean;
}

/**
 * `text` for a log: without secrets, and each character that JSON would leave as it is although nobody sees it, or it turns
 * the line around (C1, bidirectional, zero width), as `\uXXXX`.
 */
const loggedText = (text: string): string => printableLines(redactedText(text));

/**
 * For `JSON.stringify` of a log line: leaves out whatever looks like a token, by its key or by what stands before it in a
 * text, and makes every text printable.
 */
export function redact(key: string, value: unknown): unknown {
  if (value instanceof Secret) return redacted;
  if (value === undefined || value === null) return value;
  const name = key.replace(/[_-]/g, '').toLowerCase();
  if (secretKey.test(name) || (name === 'code' && !isHarmlessCode(value))) return redacted;
  return typeof value === 'string' ? loggedText(value) : value;
}

/** Causes of causes; an error may even be its own. */
const maxDepth = 10;

/**
 * A copy of `error` that shows no secret and nothing unprintable, in its message, stack, causes and other fields. For
 * errors that leave the function: Lambda logs what is thrown, and returns it to the caller.
 *
 * @returns an Error with the name of the original, whatever its class; what is no Error becomes one
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

/** What is left of the value of `key` after JSON, redacted. */
function jsonOf(key: string, value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify({ [key]: value }, redact))[key];
  } catch {
    // A circle, or more than a text can hold.
    return redacted;
  }
}
