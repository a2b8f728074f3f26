/**
 * The only code that refreshes tokens: on demand when drain or fan-out met a rejected token, and on schedule; one
 * refresh at a time for each partner account (partner-api.md §5.3, docs/decisions/0003-tokens.md).
 */

import { checked } from '../../shared/contract/checks.ts';
import type { StopReason } from '../../shared/contract/events.ts';
import { type RefreshOutcome, refreshEvent } from '../../shared/contract/invocations.ts';
import type { Deadline } from '../../shared/domain/clock.ts';
import { asBridgeFault, BridgeFault } from '../../shared/domain/faults.ts';
import { type Hold, heldBy, withHold } from '../../shared/domain/holds.ts';
import { type PartnerAccount, stopOf } from '../../shared/domain/partner-account.ts';
import type { TokenPair } from '../../shared/domain/secret.ts';
import { needsAttention } from '../../shared/ports/observer.ts';
import { isTokenHold, publishOwedEvents, stopped, withToken } from './account-writes.ts';
import { type AccountLock, exclusively, type RefreshDeps, type TokenRefresh } from './refresh-lock.ts';
import { sweep } from './sweep.ts';
import { lackingScopes, newestPair, pairOf, storePair, warnOfOddAnswer } from './token-pairs.ts';

/** Usually longer than a running refresh. The lock of a dead process lasts far longer, and the caller asks again. */
const lockWaitMs = 5_000;
/** The first hold is short: the service may only be slow to distribute a new token internally. */
const firstHoldMs = 5_000;
const longestHoldMs = 3_600_000;
/**
 * An access token that arrives with less time left than this counts as expired. A refresh shortly before the expiry
 * returns the same token (partner-api.md §5.3), and the next one a new one. If that has no time left either, the
 * account is on hold, because Secrets Manager allows about 100 versions a day.
 * @see https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_PutSecretValue.html
 */
const spentMs = 5_000;
const isSpent = ({ expiresAt, obtainedAt }: TokenPair): boolean => expiresAt - obtainedAt < spentMs;

const held: RefreshOutcome = { kind: 'held' };

export function createRefreshToken(deps: RefreshDeps) {
  const { applicationSecret, client, observer, clock, settings } = deps;
  const moment = () => ({ bridge: settings.bridge, observedAt: clock.now() });

  async function refresh(request: TokenRefresh, options: Deadline): Promise<RefreshOutcome> {
    const { partnerAccount: name } = request;
    try {
      const deadlineMs = Math.min(options.deadlineMs, clock.now() + lockWaitMs);
      return await exclusively(deps, name, { deadlineMs }, (lock) => refreshLocked(lock, request, options));
    } catch (error) {
      return failed(name, asBridgeFault(error));
    }
  }

  async function refreshLocked(
    lock: AccountLock,
    request: TokenRefresh,
    options: Deadline,
  ): Promise<RefreshOutcome> {
    const { name, account } = lock;
    if (!account) return held;
    const settled = settledOutcome(account, request);
    if (settled) return settled;
    const current = await newestPair(deps, account, options);
    if (!current) return stopAccount(lock, 'refresh-token-rejected');
    if (current.version !== account.token?.version) {
      await change(lock, (latest) => withToken(latest, current.version, current.pair, moment()));
      return { kind: 'renewed' };
    }
    if (request.because === 'scope-insufficient') return stopAccount(lock, request.because);

    const grant = { grant_type: 'refresh_token', refresh_token: current.pair.refreshToken } as const;
    const application = await applicationSecret.read();
    const received = await client.requestTokens(application, grant, options).catch(asBridgeFault);
    if (received instanceof BridgeFault) {
      if (received.code === 'grant-rejected') return stopAccount(lock, 'refresh-token-rejected');
      throw received;
    }
    // What this process stores after another one took the lock would be of no use, or of a disconnected account. If the
    // row cannot be read, the pair is stored nevertheless: the service may not return it again.
    const isOurs = await lock.read().catch(() => account);
    if (!isOurs) return { kind: 'renewed' };

    // The pair is stored first; it is judged only afterwards.
    const own = pairOf(received, current.pair) as TokenPair;
    const pair = { ...own, generation: account.generation, follows: current.version };
    // Planted fault: told-before-stored
    const version = await storePair(deps, name, pair, options);
    warnOfOddAnswer(received, name, observer);
    const missing = lackingScopes(received, pair, settings.requiredScope);
    // A token that has expired only by our clock may come back with a short time left, because the service has not
    // rejected it.
    const isBroken = received.answer.access_token === undefined || (isSpent(pair) && isSpent(current.pair));
    const isUnchanged = request.because === 'unused' && own.accessToken.equals(current.pair.accessToken);
    const changed = await change(lock, (latest) => {
      const before = latest.holds?.find(isTokenHold);
      const renewed = withToken(latest, version, pair, moment());
      if (missing.length > 0) return stopped(renewed, 'scope-insufficient', moment());
      if (isBroken) return withHold(renewed, tokenHold(before));
      return isUnchanged && before ? withHold(renewed, before) : renewed;
    });
    if (missing.length > 0) return stoppedOutcome(name, 'scope-insufficient', missing);
    if (isBroken && changed) {
      needsAttention(
        observer,
        'the token endpoint returned no usable access token: the account pauses, its refresh token is stored',
        { partnerAccount: name, fault: 'contract-broken' },
      );
      return held;
    }
    observer.info('token refreshed', { partnerAccount: name, tokenVersion: version });
    return { kind: 'renewed' };
  }

  /** The outcome if nothing is to be refreshed. */
  function settledOutcome(
    account: PartnerAccount,
    { rejectedVersion, because }: TokenRefresh,
  ): RefreshOutcome | undefined {
    if (stopOf(account)) return held;
    if (account.token?.version !== rejectedVersion) return { kind: 'renewed' };
    const hold = heldBy(account, 'token', clock.now());
    // A paused account is not polled, so its refresh token would expire during the pause.
    return hold && isTokenHold(hold) && because !== 'unused' ? held : undefined;
  }

  /** Twice as long as the one before. */
  function tokenHold(before: Hold | undefined): Hold {
    const since = clock.now();
    const forMs = Math.min(before?.forMs ? 2 * before.forMs : firstHoldMs, longestHoldMs);
    // The answer contains no usable access token, and an immediate retry would get the same answer.
    return { kind: 'token', since, until: since + forMs, forMs, reason: 'token-answer-broken' };
  }

  async function stopAccount(lock: AccountLock, reason: StopReason): Promise<RefreshOutcome> {
    const account = await change(lock, (latest) => stopped(latest, reason, moment()));
    return account ? stoppedOutcome(lock.name, reason) : { kind: 'renewed' };
  }

  function stoppedOutcome(name: string, reason: StopReason, missing?: readonly string[]): RefreshOutcome {
    const fields = { partnerAccount: name, reason, ...(missing && { missing }) };
    needsAttention(observer, 'the partner account is stopped: connect it again', fields);
    return held;
  }

  async function change(
    lock: AccountLock,
    changed: (account: PartnerAccount) => PartnerAccount,
  ): Promise<PartnerAccount | undefined> {
    const account = await lock.change(changed);
    if (account) await publishOwedEvents(deps, account);
    return account;
  }

  function failed(name: string, fault: BridgeFault): RefreshOutcome {
    const fields = { partnerAccount: name, fault: fault.code, reason: fault.message, error: fault.cause };
    if (fault.policy.needsAttention)
      needsAttention(observer, 'the token cannot be refreshed until somebody acts: see the reason', fields);
    else observer.warn('the token could not be refreshed: the refresh is tried again', fields);
    return { kind: 'failed', fault: fault.code, reason: fault.message };
  }

  return { refresh, sweep: (options: Deadline) => sweep(deps, refresh, options) };
}

export type RefreshToken = ReturnType<typeof createRefreshToken>;

/**
 * A refresh, or a sweep if the event names no action (as the schedule's event does). There must not be more actions:
 * drain and fan-out may call it, and must not be able to connect or forget partner accounts.
 * @throws {ShapeError} for an event that does not match the contract; the error contains nothing of the event
 */
export async function answerRefreshToken(
  stage: RefreshToken,
  event: unknown,
  options: Deadline,
): Promise<RefreshOutcome | undefined> {
  const isNamed = typeof event === 'object' && event !== null && 'action' in event;
  if (isNamed) return stage.refresh(checked(refreshEvent, event, 'refresh-token event'), options);
  await stage.sweep(options);
  return undefined;
}
