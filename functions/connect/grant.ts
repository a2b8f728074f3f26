/** Exchanges what a person passes to `connect` (a code or a refresh token) for a token pair. */
import { PartnerError } from '../../shared/domain/faults.ts';
import type { Secret } from '../../shared/domain/secret.ts';
import type { TokenPair } from '../../shared/domain/token-pair.ts';
import type { Grant, ReceivedTokens } from '../../shared/ports/token-endpoint.ts';
import { isScopeUnusable, missingScopes } from '../refresh-token/tokens.ts';

/** A refresh token, or the one-time code from the authorization page. */
export type HandedIn =
  | { readonly refreshToken: Secret }
  | { readonly code: Secret; readonly redirectUri?: string };

export function grantOf(handedIn: HandedIn, scope: string): Grant {
  if ('refreshToken' in handedIn) return { type: 'refresh_token', refreshToken: handedIn.refreshToken };
  const { code, redirectUri } = handedIn;
  return { type: 'authorization_code', code, scope, ...(redirectUri === undefined ? {} : { redirectUri }) };
}

/** @throws {PartnerError} `scope-refused` */
export function refuseSmallScope(
  { scope }: TokenPair,
  received: Pick<ReceivedTokens, 'unusable'>,
  required: string,
): void {
  if (isScopeUnusable(received))
    throw new PartnerError('scope-refused', 'the service named a granted scope that cannot be read');
  const missing = missingScopes(scope, required);
  if (missing.length === 0) return;
  throw new PartnerError(
    'scope-refused',
    `the scope granted is too small: "${scope}" lacks ${missing.join(', ')}`,
  );
}

/** Adds a note about the given refresh token to the fault, because the service may have replaced it by now. */
export function sayingUsed(error: unknown, handedIn: Secret, { refreshToken }: TokenPair): unknown {
  if (!(error instanceof PartnerError)) return error;
  const fate = refreshToken.equals(handedIn)
    ? 'the refresh token handed in has been used, and is still the newest one'
    : 'the service has replaced the refresh token handed in, and the new one was not stored: ' +
      'do not hand the old one in again, but have the user authorize anew, or get the newest one from the service';
  const { code, message, status, serviceCode, retryAfterMs } = error;
  return new PartnerError(code, `${message} (${fate})`, { status, serviceCode, retryAfterMs, cause: error });
}
