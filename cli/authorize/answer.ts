import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { CommandError } from '../../operations/errors.ts';
import { Secret } from '../../shared/domain/secret.ts';

/**
 * 256 random bits, for one authorization.
 *
 * @see https://www.rfc-editor.org/rfc/rfc6749#section-10.12
 */
export const newState = (): string => randomBytes(32).toString('base64url');

/** The characters that RFC 6749 §4.1.2 allows in a code, with the maximum length of a request line. */
const codePattern = /^[\x21-\x7e]{1,4096}$/;

/** Error codes of RFC 6749 §4.1.2.1 for which there is a remedy; docs/partner-api.md documents none. */
const refusals = new Map([
  ['access_denied', 'the user or the partner service denied access'],
  [
    'invalid_scope',
    'the partner service does not grant this application the requested scope. Request less (setting ' +
      'requiredScope, --required-scope), or ask the partner service to allow more',
  ],
  [
    'invalid_request',
    'the partner service rejects the request as invalid: is the redirect URI a registered Callback URL?',
  ],
  ['temporarily_unavailable', 'the partner service cannot answer now. Try again in a while'],
]);

/**
 * The one-time code in the partner service's answer. Messages repeat nothing from the answer except known error codes,
 * because any web page can send a browser here with any text.
 *
 * @param expected the state that was sent
 * @throws {CommandError} if the answer belongs to another request, is a refusal, or has no code
 * @see docs/partner-api.md, grant authorization_code
 */
export function codeIn(query: URLSearchParams, expected: string): Secret {
  if (!isAnswerTo(query, expected)) {
    throw new CommandError(
      'the answer does not belong to this request: its state is missing or different. It may belong to an ' +
        'earlier attempt, or come from somebody else. Nothing was stored; run connect again, and use the address that it prints',
    );
  }
  const [error] = query.getAll('error');
  if (error !== undefined) throw refusal(error);
  const [code, ...others] = query.getAll('code');
  if (code === undefined || others.length > 0 || !codePattern.test(code)) {
    throw new CommandError(
      'the partner service sent neither a code nor an error. Nothing was stored; run connect again',
    );
  }
  return new Secret(code);
}

/** Whether `query` is the answer to the request with the state `expected`: it contains this state exactly once. */
export function isAnswerTo(query: URLSearchParams, expected: string): boolean {
  const [state, ...others] = query.getAll('state');
  if (state === undefined || others.length > 0) return false;
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(state), digest(expected));
}

function refusal(error: string): CommandError {
  const known = refusals.get(error);
  const told = known ?? `the partner service refused it${/^[a-z_]{1,40}$/.test(error) ? ` (${error})` : ''}`;
  return new CommandError(`${told}. Nothing was stored`);
}
