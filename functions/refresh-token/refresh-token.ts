/**
 * The only code that refreshes tokens: on demand when drain or fan-out met a rejected token, and on schedule; one
 * refresh at a time for each partner account (partner-api.md §5.3, docs/decisions/0003-tokens.md).
 */

import { checked } from '../../shared/contract/checks.ts';
import type { StopReason } from '../../shared/contract/events.ts';
import { type RefreshOutcome, refreshEvent } from '../../shared/contract/invocations.ts';
import type { Deadline } from '../../shared/domain/clock.ts';
import { asBridgeFault, BridgeFault, isDeferred } from '../../shared/domain/faults.ts';
import { heldBy } from '../../shared/domain/holds.ts';
import { type PartnerAccount, stopOf } from '../../shared/domain/partner-account.ts';
import {
  endpointFailed,
  isTokenHold,
  nextRenewal,
  type Renewal,
  waitingForToken,
  waitingRenewal,
} from '../../shared/domain/renewal.ts';
import type { TokenPair } from '../../shared/domain/secret.ts';
import { needsAttention } from '../../shared/ports/observer.ts';
import { endpointAnswered, publishOwedEvents, stopped, withToken } from './account-writes.ts';
import { type AccountLock, exclusively, type RefreshDeps, type TokenRefresh } from './refresh-lock.ts';
import { sweep } from './sweep.ts';
import {
  lackingScopes,
  type NewestPair,
  newestPair,
  pairOf,
  storePair,
  warnOfOddAnswer,
} from './token-pairs.ts';

/** Usually longer than a running refresh. The lock of a dead process lasts far longer, and the caller asks again. */
const lockWaitMs = 5_000;
/**
 * An access token that arrives with less time left than this counts as expired. A refresh shortly before the expiry
 * returns the same token (partner-api.md §5.3), and the next one a new one. If that has no time left either, the
 * account waits, because Secrets Manager allows about 100 versions a day.
 * @see https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_PutSecretValue.html
 */
const spentMs = 5_000;
const arrivedExpired = ({ expiresAt, obtainedAt }: TokenPair): boolean => expiresAt - obtainedAt < spentMs;

/** Whether the service gave the pair that is stored. The time that is left in it stands in the account's row, too. */
const isSamePair = (one: TokenPair, stored: TokenPair): boolean =>
  one.accessToken.equals(stored.accessToken) &&
  one.refreshToken.equals(stored.refreshToken) &&
  one.scope === stored.scope &&
  arrivedExpired(one) === arrivedExpired(stored);

const held: RefreshOutcome = { kind: 'held' };

const brokenAnswer = new BridgeFault(
  'contract-broken',
  'the token endpoint returned no access token that can be sent',
);

/** The renewal that has brought `pair`. */
function renewalWith(pair: TokenPair, before: Renewal | undefined, at: number): Renewal {
  const next = nextRenewal(before, at);
  if (!arrivedExpired(pair)) return next;
  // The old token in its last seconds: then there is a new one.
  return { ...next, forMs: Math.min(next.forMs, pair.expiresAt - pair.obtainedAt + 1_000) };
}

export function createRefreshToken(deps: RefreshDeps) {
  const { applicationSecret, budgetStore, client, observer, clock, settings } = deps;
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
    const { account } = lock;
    if (!account) return held;
    const settled = await settledOutcome(lock, account, request);
    if (settled) return settled;
    const current = await newestPair(deps, account, options);
    if (!current) return stopAccount(lock, 'refresh-token-rejected');
    if (current.version !== account.token?.version) {
      await change(lock, (latest) => withToken(latest, current.version, current.pair, moment()));
      return { kind: 'renewed' };
    }
    if (request.because === 'scope-insufficient') return stopAccount(lock, request.because);

    const wait = await waitOfAll();
    if (wait) {
      if (request.because === 'expired') await lock.change((latest) => waitingForToken(latest, wait));
      return held;
    }
    // Outside of the `try`: nothing was sent, so no renewal has failed.
    await deps.vault.reserve?.();
    try {
      return await renew(lock, account, { ...request, current }, options);
    } catch (error) {
      await noteFailure(lock, asBridgeFault(error)).catch(() => undefined);
      throw error;
    }
  }

  /** The wait of all accounts, because the endpoint failed for several of them; undefined: this one tries it. */
  async function waitOfAll(): Promise<Renewal | undefined> {
    let wait: Renewal | undefined;
    await budgetStore.change((bridge) => {
      const at = clock.now();
      wait = waitingRenewal(bridge, at);
      return wait || !bridge.renewal ? bridge : { ...bridge, renewal: { ...bridge.renewal, at } };
    });
    return wait;
  }

  async function renew(
    lock: AccountLock,
    account: PartnerAccount,
    { because, current }: TokenRefresh & { readonly current: NewestPair },
    options: Deadline,
  ): Promise<RefreshOutcome> {
    const { name } = lock;
    const grant = { grant_type: 'refresh_token', refresh_token: current.pair.refreshToken } as const;
    const application = await applicationSecret.read();
    const received = await client.requestTokens(application, grant, options).catch(asBridgeFault);
    if (received instanceof BridgeFault) {
      if (received.code === 'grant-rejected') return stopAccount(lock, 'refresh-token-rejected');
      const at = clock.now();
      // Rule: one-account-holds-no-other
      if (received.mayBlame('endpoint') && account.renewal?.fault === undefined)
        await budgetStore.change((bridge) => endpointFailed(bridge, at, received)).catch(() => undefined);
      throw received;
    }
    // What this process stores after another one took the lock would be of no use, or of a disconnected account. If the
    // row cannot be read, the pair is stored nevertheless: the service may not return it again.
    const isOurs = await lock.read().catch(() => account);
    if (!isOurs) return { kind: 'renewed' };

    // The pair is stored first; it is judged only afterwards.
    const own = pairOf(received, current.pair) as TokenPair;
    const pair = { ...own, generation: account.generation, follows: current.version };
    // Secrets Manager keeps about a hundred versions a day. A pair that a late write of an older one has replaced as the
    // current version is stored again, because it would be lost after some more writes.
    // Rule: same-pair-not-stored
    const isSame = current.isLatest && isSamePair(own, current.pair);
    // Planted fault: told-before-stored
    const version = isSame ? current.version : await storePair(deps, name, pair, options);
    warnOfOddAnswer(received, name, observer);
    const missing = lackingScopes(received, pair, settings.requiredScope);
    // A token that has expired only by our clock may come back with a short time left, because the service has not
    // rejected it.
    const isBroken =
      received.answer.access_token === undefined || (arrivedExpired(pair) && arrivedExpired(current.pair));
    const at = clock.now();
    const changed = await change(lock, (latest) => {
      const renewed = withToken(latest, version, pair, moment());
      if (missing.length > 0) return stopped(renewed, 'scope-insufficient', moment());
      if (isBroken) {
        const renewal = nextRenewal(latest.renewal, at, brokenAnswer, true);
        return waitingForToken({ ...renewed, renewal }, renewal);
      }
      // The token before has helped until it ran out.
      const before = because === 'expired' && !isSame ? undefined : latest.renewal;
      return { ...renewed, renewal: renewalWith(pair, before, at) };
    });
    await endpointAnswered(deps);
    // Another process has the lock: what it says of the account is newer.
    if (!changed) return { kind: 'renewed' };
    if (missing.length > 0) return stoppedOutcome(name, 'scope-insufficient', missing);
    if (isBroken) {
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

  /** The outcome if nothing is to be refreshed now. */
  async function settledOutcome(
    lock: AccountLock,
    account: PartnerAccount,
    { rejectedVersion, because }: TokenRefresh,
  ): Promise<RefreshOutcome | undefined> {
    if (stopOf(account)) return held;
    if (account.token?.version !== rejectedVersion) return { kind: 'renewed' };
    // A small scope stops the account.
    if (because === 'scope-insufficient') return undefined;
    const now = clock.now();
    const last = waitingRenewal(account, now);
    // The renewal failed while the token was still valid; now it has run out.
    if (because === 'expired' && last?.fault !== undefined)
      await lock.change((latest) => waitingForToken(latest, last));
    if (last) return held;
    // A paused account is not polled, so its refresh token would expire during the pause.
    const hold = because === 'unused' ? undefined : heldBy(account, 'token', now);
    return hold && isTokenHold(hold) ? held : undefined;
  }

  /** Requests wait if there is no valid token until the next renewal. */
  async function noteFailure(lock: AccountLock, fault: BridgeFault): Promise<void> {
    if (isDeferred(fault.code)) return;
    const at = clock.now();
    await lock.change((latest) => {
      const renewal = nextRenewal(latest.renewal, at, fault);
      const isExpired = (latest.token?.expiresAt ?? 0) <= at;
      return isExpired ? waitingForToken({ ...latest, renewal }, renewal) : { ...latest, renewal };
    });
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
