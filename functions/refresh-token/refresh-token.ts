/**
 * The only code that refreshes tokens: on demand when drain or fan-out met a rejected token, and on schedule. Only one
 * refresh at a time runs for each partner account, across all functions and processes. The other rules follow from
 * partner-api.md §5.3 (docs/decisions/0003-tokens.md).
 */

import { metrics } from '../../shared/contract/names.ts';
import type { RefreshOutcome } from '../../shared/contract/refresh-token.ts';
import { asPartnerError, type PartnerError } from '../../shared/domain/faults.ts';
import { endOfHold, type Hold, heldBy, withHold } from '../../shared/domain/holds.ts';
import { stopOf } from '../../shared/domain/partner-account.ts';
import type { TokenPair } from '../../shared/domain/token-pair.ts';
import { isTokenHold, publishOwedEvents, stopped, withToken } from './account-writes.ts';
import { busy, withRefreshLock } from './refresh-lock.ts';
import type { CallOptions, RefreshDeps, TokenRefresh } from './refresh-request.ts';
import { storePair } from './store-pair.ts';
import { createSweep } from './sweep.ts';
import { createTokenRequests } from './token-requests.ts';
import { missingScopes, pairOf, warnOfOddAnswer } from './tokens.ts';

const busyMs = 500;
/** The first hold is short: the service may only be slow to distribute a new token internally. */
const firstHoldMs = 5_000;
const longestHoldMs = 3_600_000;
/** The answer contains no usable access token, and an immediate retry would get the same answer. */
const brokenAnswer = 'token-answer-broken';
/**
 * An access token that arrives with less time left than this counts as expired. A refresh shortly before the expiry
 * returns the same token (partner-api.md §5.3, refresh_token rule 2), and the next refresh a new one. If that one has
 * no time left either, the account is on hold, because each refresh stores a version of the secret, and Secrets Manager
 * allows about 100 versions a day.
 *
 * @see https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_PutSecretValue.html
 */
const spentMs = 5_000;
const isSpent = ({ expiresAt, obtainedAt }: TokenPair): boolean => expiresAt - obtainedAt < spentMs;

const pausedOutcome = (hold: Hold): RefreshOutcome => ({
  kind: 'paused',
  untilMs: endOfHold(hold),
  reason: hold.reason ?? hold.kind,
});

export function createRefreshToken(deps: RefreshDeps) {
  const { accounts, vault, observer, clock, settings } = deps;
  const requestTokens = createTokenRequests(deps);
  const moment = () => ({ bridge: settings.bridge, observedAt: clock.now() });

  async function refresh(request: TokenRefresh, options: CallOptions): Promise<RefreshOutcome> {
    try {
      return await refreshOnce(request, options);
    } catch (error) {
      return failed(request.partnerAccount, asPartnerError(error));
    }
  }

  const storedVersion = async (name: string) => (await vault.read(name))?.version;

  async function refreshOnce(request: TokenRefresh, options: CallOptions): Promise<RefreshOutcome> {
    const { partnerAccount: name, rejectedVersion } = request;
    const account = await accounts.read(name);
    if (!account) return { kind: 'stopped', reason: `partner account ${name} is not connected` };
    const stop = stopOf(account);
    if (stop) {
      const newer = request.because === 'stopped' ? await storedVersion(name) : undefined;
      if (newer === undefined || newer === stop.tokenVersion) return { kind: 'stopped', reason: stop.reason };
    }
    // The secret is authoritative: after a crash between the two writes, the account's row does not name the newest
    // version.
    if (account.token?.version !== rejectedVersion && (await storedVersion(name)) !== rejectedVersion) {
      return { kind: 'renewed' };
    }
    const hold = heldBy(account, 'token', clock.now());
    // A paused account is not polled, so its refresh token would expire during the pause.
    if (hold && !hold.fault && request.because !== 'unused') return pausedOutcome(hold);

    const outcome = await withRefreshLock(deps, name, (holder) => refreshLocked(request, holder, options));
    return outcome === busy ? { kind: 'busy', retryAfterMs: busyMs } : outcome;
  }

  async function refreshLocked(
    request: TokenRefresh,
    holder: string,
    options: CallOptions,
  ): Promise<RefreshOutcome> {
    const { partnerAccount: name, rejectedVersion, because } = request;
    const current = await vault.read(name);
    if (!current) return stopAccount(name, 'refresh-token-rejected', rejectedVersion);
    // After a crash between the two writes, or a manual edit of the secret, write the newest version into the account's
    // row.
    const told = await accounts.change(name, (now) =>
      now.token?.version === current.version
        ? undefined
        : withToken(now, current.version, current.pair, moment()),
    );
    if (told) await publishOwedEvents(deps, told);
    // The account was disconnected or stopped after it was read.
    const stop = told && stopOf(told);
    if (stop) return { kind: 'stopped', reason: stop.reason };
    if (current.version !== rejectedVersion) return { kind: 'renewed' };
    if (because === 'scope-insufficient') return stopAccount(name, 'scope-insufficient', current.version);
    const grant = { type: 'refresh_token', refreshToken: current.pair.refreshToken } as const;
    const received = await requestTokens(grant, options).catch(asPartnerError);
    if (received instanceof Error) return refused(name, current.version, received);

    // A process that was frozen may go on when another one holds the lock: what that one stores is newer.
    // Rule: no-write-without-the-lock
    if (!(await mayHold(name, holder))) return { kind: 'renewed' };

    // The pair is stored first; it is judged only afterwards.
    const pair = pairOf(received, current.pair) as TokenPair;
    // Planted fault: told-before-stored
    const version = await storePair(deps, name, pair, options);
    warnOfOddAnswer(received, name, observer);
    const isSame = pair.accessToken.equals(current.pair.accessToken);
    // A token that has expired only by our clock may come back with a short time left, because the service has not
    // rejected it.
    const isBroken = received.answer.access_token === undefined || (isSpent(pair) && isSpent(current.pair));
    return judge(name, version, pair, { holder, isBroken, isUnchanged: because === 'unused' && isSame });
  }

  /** If the row cannot be read, the pair is stored nevertheless: the service may not return it again. */
  async function mayHold(name: string, holder: string): Promise<boolean> {
    const isOurs = async () => (await accounts.read(name))?.refreshing?.holder === holder;
    return isOurs().catch(() => true);
  }

  /** Judges the new pair. */
  async function judge(
    name: string,
    version: string,
    pair: TokenPair,
    {
      holder,
      isBroken,
      isUnchanged,
    }: { readonly holder: string; readonly isBroken: boolean; readonly isUnchanged: boolean },
  ): Promise<RefreshOutcome> {
    const missing = missingScopes(pair.scope, settings.requiredScope);
    const account = await accounts.change(name, (current) => {
      if (current.refreshing?.holder !== holder) return undefined;
      const before = current.holds?.find(isTokenHold);
      const changed = withToken(current, version, pair, moment());
      if (missing.length > 0) return stopped(changed, 'scope-insufficient', version, moment());
      if (isBroken) return withHold(changed, tokenHold(before));
      return isUnchanged && before ? withHold(changed, before) : changed;
    });
    if (account) await publishOwedEvents(deps, account);
    if (missing.length > 0) {
      observer.error(
        'the granted scope no longer suffices: the account is stopped until it is connected again',
        { partnerAccount: name, missing },
      );
      return { kind: 'stopped', reason: 'scope-insufficient' };
    }
    const hold = account?.holds?.find(isTokenHold);
    if (isBroken && hold) {
      observer.count(metrics.needsAttention, 1);
      observer.error(
        'the token endpoint returned no usable access token: the account pauses, its refresh token is stored',
        { partnerAccount: name, fault: 'contract-broken' },
      );
      return pausedOutcome(hold);
    }
    observer.info('token refreshed', { partnerAccount: name, tokenVersion: version });
    return { kind: 'renewed' };
  }

  /** Twice as long as the one before. */
  function tokenHold(before: Hold | undefined): Hold {
    const since = clock.now();
    const forMs = Math.min(before?.forMs ? 2 * before.forMs : firstHoldMs, longestHoldMs);
    return { kind: 'token', since, until: since + forMs, forMs, reason: brokenAnswer };
  }

  async function refused(name: string, version: string, fault: PartnerError): Promise<RefreshOutcome> {
    if (fault.code !== 'grant-rejected') return failed(name, fault);
    // Read the secret again before accepting this: someone may have connected the account in the meantime.
    const again = await vault.read(name);
    // Planted fault: invalid-grant-believed
    if (again && again.version !== version) return { kind: 'renewed' };
    return stopAccount(name, 'refresh-token-rejected', version);
  }

  async function stopAccount(
    name: string,
    reason: 'refresh-token-rejected' | 'scope-insufficient',
    tokenVersion: string,
  ): Promise<RefreshOutcome> {
    const account = await accounts.change(name, (now) => {
      if (now.token && now.token.version !== tokenVersion) return undefined;
      return stopped(now, reason, tokenVersion, moment());
    });
    if (!account || !stopOf(account)) return { kind: 'renewed' };
    observer.error('the partner account is stopped: connect it again', { partnerAccount: name, reason });
    await publishOwedEvents(deps, account);
    return { kind: 'stopped', reason };
  }

  function failed(name: string, fault: PartnerError): RefreshOutcome {
    const fields = { partnerAccount: name, fault: fault.code, reason: fault.message, error: fault.cause };
    if (fault.policy.needsAttention) {
      observer.count(metrics.needsAttention, 1);
      observer.error('the token cannot be refreshed until somebody acts: see the reason', fields);
    } else {
      observer.warn('the token could not be refreshed: the refresh is tried again', fields);
    }
    return { kind: 'failed', fault: fault.code, reason: fault.message };
  }

  return { refresh, sweep: createSweep(deps, refresh) };
}

export type RefreshToken = ReturnType<typeof createRefreshToken>;
