import type { Clock, Deadline } from '../../shared/domain/clock.ts';
import { backoffMs } from '../../shared/domain/concurrency.ts';
import { BridgeFault } from '../../shared/domain/faults.ts';
import type { PartnerAccount } from '../../shared/domain/partner-account.ts';
import { Secret, type StoredPair, type TokenPair } from '../../shared/domain/secret.ts';
import { needsAttention, type Observer } from '../../shared/ports/observer.ts';
import type { ReceivedTokens, TokenVault, VersionedPair } from '../../shared/ports/tokens.ts';
import type { RefreshDeps } from './refresh-lock.ts';

/** Assumed lifetime if the answer does not contain one; if the real lifetime is shorter, a 401 shows it. */
const assumedLifetimeSeconds = 3600;

/**
 * Fields that the answer omits keep their previous values. The expiry counts from before the request, so that it is
 * never too late.
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

/** Logs how the answer differs from the document, without the contents of its fields. */
export function warnOfOddAnswer(
  { answer, unusable = [] }: ReceivedTokens,
  partnerAccount: string,
  observer: Observer,
): void {
  const fields = { partnerAccount, fields: unusable };
  const returned = 'the token endpoint returned';
  if (unusable.includes('refresh_token'))
    needsAttention(
      observer,
      `${returned} an unusable refresh token: the previous one may expire in a day`,
      fields,
    );
  else if (unusable.length > 0)
    observer.warn(`${returned} unusable fields: their previous values are kept`, fields);
  if (answer.token_type !== undefined && answer.token_type !== 'bearer')
    observer.warn(`${returned} a token type other than bearer: it is used as bearer`, { partnerAccount });
}

const scopesOf = (scope: string): string[] => scope.split(/[\s+,]+/).filter((part) => part !== '');

/** Normalizes scopes, separated by spaces, plus signs (partner-api.md §5.3) or commas, to one string separated by spaces. */
export const normalScope = (scope = ''): string => scopesOf(scope).join(' ');

/** The required scopes that were not granted. If the service never named the scope, all count as granted. */
export function missingScopes(granted: string, required: string): string[] {
  const has = new Set(scopesOf(granted));
  return has.size === 0 ? [] : scopesOf(required).filter((scope) => !has.has(scope));
}

/** What the pair's scope lacks. If the answer's scope cannot be read, nothing is known to be granted. */
export const lackingScopes = (
  { unusable = [] }: ReceivedTokens,
  { scope }: TokenPair,
  required: string,
): string[] => (unusable.includes('scope') ? ['a scope that can be read'] : missingScopes(scope, required));

/** Reads of Secrets Manager lag behind its writes by a few seconds; what is missing for so long does not exist. */
const lagMs = 12_000;
const lookMs = 500;

/**
 * Whether a refresh or `connect` stored this pair and ended before the row named it. Any other pair that the row does
 * not name is of another time or user, because reads lag and a process may be frozen before its write.
 */
function isNext({ generation, token }: PartnerAccount, { pair }: VersionedPair): boolean {
  const isOwn = (token?.issuedFor ?? generation) <= pair.generation && pair.generation <= generation;
  // Rule: only-the-next-pair
  return token !== undefined && isOwn && pair.follows === token.version;
}

/** A pair that the row names, or the next one. */
export interface NewestPair extends VersionedPair {
  /** Whether it is the secret's current version: an older one is removed after some writes. */
  readonly isLatest: boolean;
}

/**
 * The pair that the account's row names, or the next one; undefined if there is none.
 * @throws {BridgeFault} `transient` when the deadline does not leave the time to be sure of that
 */
export async function newestPair(
  { vault, clock }: Pick<RefreshDeps, 'vault' | 'clock'>,
  account: PartnerAccount,
  { deadlineMs }: Deadline,
): Promise<NewestPair | undefined> {
  const { name, token } = account;
  const untilMs = clock.now() + lagMs;
  for (;;) {
    const latest = await vault.read(name);
    if (latest && (latest.version === token?.version || isNext(account, latest)))
      return { ...latest, isLatest: true };
    const named = await vault.read(name, token?.version);
    if (named?.version === token?.version) return named && { ...named, isLatest: false };
    if (clock.now() >= untilMs) return undefined;
    if (clock.now() + lookMs >= deadlineMs)
      throw new BridgeFault('transient', `the token pair of partner account ${name} cannot be read yet`);
    await clock.sleep(lookMs);
  }
}

const backoff = { baseMs: 500, capMs: 4_000, random: () => 1 };

/**
 * Retries a failed write until the deadline, because the service may not return the pair again (partner-api.md §5.3). Other
 * partner accounts wait meanwhile: usually their pairs could not be stored either; if they could, the next sweep begins with
 * them.
 * @returns the version
 */
export async function storePair(
  { vault, clock }: { readonly vault: Pick<TokenVault, 'write'>; readonly clock: Clock },
  partnerAccount: string,
  pair: StoredPair,
  { deadlineMs }: Deadline,
): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    const begun = clock.now();
    try {
      return await vault.write(partnerAccount, pair);
    } catch (error) {
      const waitMs = backoffMs(attempt, backoff);
      // The next attempt may take as long as this one did.
      const tookMs = clock.now() - begun;
      if (clock.now() + waitMs + tookMs > deadlineMs) throw error;
      await clock.sleep(waitMs);
    }
  }
}
