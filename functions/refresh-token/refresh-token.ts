/**
 * The only code that refreshes tokens: on demand when drain or fan-out met a rejected token, and on schedule. Only one
 * refresh at a time runs for each partner account, across all functions and processes. The other rules follow from
 * partner-api.md §5.3 (docs/decisions/0003-tokens.md).
 */

import type { RefreshOutcome } from '../../shared/contract/invocations.ts';
import { metrics } from '../../shared/contract/names.ts';
import { asBridgeFault, type BridgeFault } from '../../shared/domain/faults.ts';
import { endOfHold, type Hold, heldBy, withHold } from '../../shared/domain/holds.ts';
import { type PartnerAccount, stopOf } from '../../shared/domain/partner-account.ts';
import type { TokenPair } from '../../shared/domain/secret.ts';
import { isTokenHold, publishOwedEvents, stopped, withToken } from './account-writes.ts';
import {
  busy,
  type CallOptions,
  type RefreshDeps,
  type TokenRefresh,
  withRefreshLock,
} from './refresh-lock.ts';
import { createSweep } from './sweep.ts';
import {
  isScopeUnusable,
  missingScopes,
  newestPair,
  pairOf,
  storePair,
  warnOfOddAnswer,
} from './token-pairs.ts';
import { createTokenRequests } from './token-requests.ts';

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
  const { accounts, observer, clock, settings } = deps;
  const requestTokens = createTokenRequests(deps);
  const moment = () => ({ bridge: settings.bridge, observedAt: clock.now() });

  async function refresh(request: TokenRefresh, options: CallOptions): Promise<RefreshOutcome> {
    try {
      return await refreshOnce(request, options);
    } catch (error) {
      return failed(request.partnerAccount, asBridgeFault(error));
    }
  }

  async function refreshOnce(request: TokenRefresh, options: CallOptions): Promise<RefreshOutcome> {
    const { partnerAccount: name, rejectedVersion, because } = request;
    const account = await accounts.read(name);
    if (!account) return { kind: 'stopped', reason: `partner account ${name} is not connected` };
    const stop = stopOf(account);
    if (stop) return { kind: 'stopped', reason: stop.reason };
    if (account.token?.version !== rejectedVersion) return { kind: 'renewed' };
    const hold = heldBy(account, 'token', clock.now());
    // A paused account is not polled, so its refresh token would expire during the pause.
    if (hold && !hold.fault && because !== 'unused') return pausedOutcome(hold);

    const outcome = await withRefreshLock(deps, name, (holder, locked) =>
      refreshLocked(locked, holder, request, options),
    );
    return outcome === busy ? { kind: 'busy', retryAfterMs: busyMs } : outcome;
  }

  async function refreshLocked(
    account: PartnerAccount,
    holder: string,
    { because, rejectedVersion }: TokenRefresh,
    options: CallOptions,
  ): Promise<RefreshOutcome> {
    const { name, generation, token } = account;
    // The account was stopped, or its token renewed, after the row was read.
    const stop = stopOf(account);
    if (stop) return { kind: 'stopped', reason: stop.reason };
    if (token?.version !== rejectedVersion) return { kind: 'renewed' };
    const current = await newestPair(deps, account, options);
    if (!current) return stopAccount(account, holder, 'refresh-token-rejected');
    if (current.version !== token.version) {
      await changeLocked(name, holder, (now) => withToken(now, current.version, current.pair, moment()));
      return { kind: 'renewed' };
    }
    if (because === 'scope-insufficient') return stopAccount(account, holder, because);
    const grant = { type: 'refresh_token', refreshToken: current.pair.refreshToken } as const;
    const received = await requestTokens(grant, options).catch(asBridgeFault);
    if (received instanceof Error) {
      if (received.code !== 'grant-rejected') return failed(name, received);
      return stopAccount(account, holder, 'refresh-token-rejected');
    }
    // What this process stores after another one took the lock would be of no use, or of a disconnected account.
    if (!(await mayHold(name, holder))) return { kind: 'renewed' };

    // The pair is stored first; it is judged only afterwards.
    const own = pairOf(received, current.pair) as TokenPair;
    const pair = { ...own, generation, follows: current.version };
    // Planted fault: told-before-stored
    const version = await storePair(deps, name, pair, options);
    warnOfOddAnswer(received, name, observer);
    const isSame = own.accessToken.equals(current.pair.accessToken);
    // A token that has expired only by our clock may come back with a short time left, because the service has not
    // rejected it.
    const isBroken = received.answer.access_token === undefined || (isSpent(pair) && isSpent(current.pair));
    return judge(name, version, pair, {
      ...{ holder, isBroken },
      isUnchanged: because === 'unused' && isSame,
      missing: isScopeUnusable(received)
        ? ['a scope that can be read']
        : missingScopes(pair.scope, settings.requiredScope),
    });
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
      missing,
    }: {
      readonly holder: string;
      readonly isBroken: boolean;
      readonly isUnchanged: boolean;
      /** Scopes. */
      readonly missing: readonly string[];
    },
  ): Promise<RefreshOutcome> {
    const account = await changeLocked(name, holder, (current) => {
      const before = current.holds?.find(isTokenHold);
      const changed = withToken(current, version, pair, moment());
      if (missing.length > 0) return stopped(changed, 'scope-insufficient', version, moment());
      if (isBroken) return withHold(changed, tokenHold(before));
      return isUnchanged && before ? withHold(changed, before) : changed;
    });
    if (missing.length > 0) {
      observer.count(metrics.needsAttention, 1);
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

  async function stopAccount(
    { name, token }: PartnerAccount,
    holder: string,
    reason: 'refresh-token-rejected' | 'scope-insufficient',
  ): Promise<RefreshOutcome> {
    const account = await changeLocked(name, holder, (current) =>
      stopped(current, reason, token?.version ?? '', moment()),
    );
    if (!account || !stopOf(account)) return { kind: 'renewed' };
    observer.count(metrics.needsAttention, 1);
    observer.error('the partner account is stopped: connect it again', { partnerAccount: name, reason });
    return { kind: 'stopped', reason };
  }

  /**
   * Changes the row unless another process has taken the lock meanwhile: what that one writes is newer. Publishes the
   * events that the change owes.
   */
  async function changeLocked(
    name: string,
    holder: string,
    change: (account: PartnerAccount) => PartnerAccount,
  ): Promise<PartnerAccount | undefined> {
    const account = await accounts.change(name, (current) =>
      // Rule: no-write-without-the-lock
      current.refreshing?.holder === holder ? change(current) : undefined,
    );
    if (account) await publishOwedEvents(deps, account);
    return account;
  }

  function failed(name: string, fault: BridgeFault): RefreshOutcome {
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
