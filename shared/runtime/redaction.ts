import { faultKinds } from '../domain/faults.ts';
import { redacted, Secret } from '../domain/secret.ts';

/**
 * The second net: a {@link Secret} prints as `[redacted]` by itself; this one catches what was never put into one.
 */
const secretKeys = new Set([
  'accesstoken',
  'refreshtoken',
  'idtoken',
  'token',
  'authorization',
  'clientsecret',
  'secretstring',
  'password',
  'cookie',
  'setcookie',
]);

/** A one-time code is a secret, an error code is what an operator looks for: those of the bridge and of Node stay. */
const errorCodes = new Set<string>([...faultKinds, 'wrong-shape', 'ABORT_ERR']);
const isErrorCode = (value: unknown) =>
  typeof value === 'number' ||
  (typeof value === 'string' && (errorCodes.has(value) || /^E[A-Z_]{2,24}$/.test(value)));

const inText =
  /\b(bearer\s+|basic\s+|(?:access_token|refresh_token|client_secret|code|(?:access|refresh)Token|clientSecret)["']?\s*[=:]\s*["']?)[^\s"'&,;}]+/gi;

/** For `JSON.stringify`: whatever looks like a token, by its key or by what stands before it in a text, is left out. */
export function redact(key: string, value: unknown): unknown {
  if (value instanceof Secret) return redacted;
  const name = key.replace(/[_-]/g, '').toLowerCase();
  if (secretKeys.has(name) && value !== undefined && value !== null) return redacted;
  if (name === 'code' && value !== undefined && !isErrorCode(value)) return redacted;
  return typeof value === 'string' ? value.replace(inText, `$1${redacted}`) : value;
}
