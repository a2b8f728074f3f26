import { metrics } from '../../shared/contract/names.ts';
import { Secret } from '../../shared/domain/secret.ts';
import type { TokenPair } from '../../shared/domain/token-pair.ts';
import type { Observer } from '../../shared/ports/observer.ts';
import type { ReceivedTokens } from '../../shared/ports/token-endpoint.ts';

/** Assumed lifetime if the answer does not contain one; if the real lifetime is shorter, a 401 shows it. */
const assumedLifetimeSeconds = 3600;

/**
 * Builds the token pair from an answer. Fields that the answer omits keep their previous values (partner-api.md §5.3:
 * the newest refresh token is the one to keep). The expiry counts from before the request, so that it is never too
 * late.
 *
 * @returns undefined when a token is missing both in the answer and in the previous pair
 */
export function pairOf(
  { answer, sentAt, receivedAt }: ReceivedTokens,
  before: Partial<TokenPair>,
): TokenPair | undefined {
  // Planted fault: old-refresh-token-kept
  const refreshToken = answer.refresh_token ? new Secret(answer.refresh_token) : before.refreshToken;
  const accessToken = answer.access_token ? new Secret(answer.access_token) : before.accessToken;
  if (!refreshToken || !accessToken) return undefined;
  const lifetimeSeconds = answer.expires_in ?? assumedLifetimeSeconds;
  return {
    accessToken,
    refreshToken,
    scope: answer.scope === undefined ? (before.scope ?? '') : normalScope(answer.scope),
    expiresAt: answer.access_token ? sentAt + lifetimeSeconds * 1000 : (before.expiresAt ?? sentAt),
    obtainedAt: receivedAt,
  };
}

/**
 * Logs how the answer differs from the document: unusable fields, whose previous values are kept, and a token type
 * other than bearer. Never logs the contents of fields.
 */
export function warnOfOddAnswer(
  { answer, unusable = [] }: ReceivedTokens,
  partnerAccount: string,
  observer: Observer,
): void {
  if (unusable.includes('refresh_token')) {
    observer.count(metrics.needsAttention, 1);
    observer.error(
      'the token endpoint returned a refresh token that cannot be stored: the old one is kept, and may be dead by tomorrow',
      { partnerAccount, fields: unusable },
    );
  } else if (unusable.length > 0) {
    observer.warn('the token endpoint returned fields that cannot be used: their former values are kept', {
      partnerAccount,
      fields: unusable,
    });
  }
  if (answer.token_type === undefined || answer.token_type === 'bearer') return;
  observer.warn('the token endpoint returned a token type other than bearer: the token is used as bearer', {
    partnerAccount,
  });
}

/** Normalizes scopes, separated by spaces or plus signs (§5.3), to one string separated by spaces. */
const normalScope = (scope: string): string => scopesOf(scope).join(' ');

const scopesOf = (scope: string): string[] => scope.split(/[\s+]+/).filter((part) => part !== '');

/** The scope of an answer; empty if it has none. */
export const grantedScope = ({ answer }: ReceivedTokens): string => normalScope(answer.scope ?? '');

/** The granted scope cannot be read, so nothing is known to be granted. */
export const isScopeUnusable = ({ unusable = [] }: Pick<ReceivedTokens, 'unusable'>): boolean =>
  unusable.includes('scope');

/** The required scopes that were not granted. If the service never named the scope, all count as granted. */
export function missingScopes(granted: string, required: string): string[] {
  if (granted === '') return [];
  const has = new Set(scopesOf(granted));
  return scopesOf(required).filter((scope) => !has.has(scope));
}
