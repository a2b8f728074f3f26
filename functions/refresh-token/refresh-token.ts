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

/** Longer than a refresh that works. The lock of a dead process lasts far longer, and the caller asks again. */
const lockWaitMs = 8_000;
/** An access token that arrives with less time left than this would end before the next renewal is due: it counts as expired. */
const spentMs = 5_000;
/** `expires_in` is in whole seconds: the token may live this much longer. */
const roundedMs = 1_000;
const arrivedExpired = ({ expiresAt, obtainedAt }: TokenPair): boolean => expiresAt - obtainedAt < spentMs;

/** Whether the service gave the pair that is stored. The time that is left in it stands in the account's row, too. */
const isSamePair = (one: TokenPair, stored: TokenPair): boolean =>
  one.accessToken.equals(stored.accessToken) &&
  one.refreshToken.equals(stored.refreshToken) &&
  one.scope === stored.scope;

const tokenEnds = (name: string) =>
  new BridgeFault(
    'transient',
    `the token of partner account ${name} ends in a moment: there is no new one yet`,
  );

const held: RefreshOutcome = { kind: 'held' };

const brokenAnswer = new BridgeFault(
  'contract-broken',
  'the token endpoint returned no access token that can be sent',
);

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
      const fault = asBridgeFault(error);
      if (fault.code === 'grant-rejected') return stopAccount(lock, 'refresh-token-rejected');
      await noteFailure(lock, fault).catch(() => undefined);
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
    let renewed = await requestPair(lock, account, current, options);
    // In the last seconds of the token the service returns it again (partner-api.md §5.3), and after its end a new one.
    // Rule: spent-token-renewed-again
    if (renewed && arrivedExpired(renewed.pair) && renewed.received.answer.access_token !== undefined) {
      const now = clock.now();
      const endsAt = Math.max(renewed.pair.expiresAt + roundedMs, now);
      if (endsAt >= options.deadlineMs) throw tokenEnds(name);
      await clock.sleep(endsAt - now);
      renewed = await requestPair(lock, account, { ...renewed, isLatest: true }, options);
    }
    // Another process has the lock, or the account was disconnected.
    if (!renewed) return { kind: 'renewed' };

    const { received, pair, version } = renewed;
    warnOfOddAnswer(received, name, observer);
    const missing = lackingScopes(received, pair, settings.requiredScope);
    const isBroken = received.answer.access_token === undefined || arrivedExpired(pair);
    const at = clock.now();
    const changed = await change(lock, (latest) => {
      const withPair = withToken(latest, version, pair, moment());
      if (missing.length > 0) return stopped(withPair, 'scope-insufficient', moment());
      if (isBroken) {
        const renewal = nextRenewal(latest.renewal, at, brokenAnswer, true);
        return waitingForToken({ ...withPair, renewal }, renewal);
      }
      // The token before has helped until it ran out.
      const before = because === 'expired' && version !== current.version ? undefined : latest.renewal;
      return { ...withPair, renewal: nextRenewal(before, at) };
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

  /** Stores the pair that the service returns for `current`. @returns undefined if the lock is no longer ours */
  async function requestPair(
    lock: AccountLock,
    account: PartnerAccount,
    current: NewestPair,
    options: Deadline,
  ) {
    const grant = { grant_type: 'refresh_token', refresh_token: current.pair.refreshToken } as const;
    const application = await applicationSecret.read();
    const received = await client
      .requestTokens(application, grant, options)
      .catch((error: unknown) => endpointRefused(account, asBridgeFault(error)));
    // What this process stores after another one took the lock would be of no use, or of a disconnected account. If the
    // row cannot be read, the pair is stored nevertheless: the service may not return it again.
    const isOurs = await lock.read().catch(() => account);
    if (!isOurs) return undefined;

    // The pair is stored first; it is judged only afterwards.
    const own = pairOf(received, current.pair) as TokenPair;
    const pair = { ...own, generation: account.generation, follows: account.token?.version };
    // Secrets Manager keeps about a hundred versions a day. A pair that a late write of an older one has replaced as the
    // current version is stored again, because it would be lost after some more writes.
    // https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_PutSecretValue.html
    // Rule: same-pair-not-stored
    const isSame = current.isLatest && isSamePair(own, current.pair);
    // Planted fault: told-before-stored
    const version = isSame ? current.version : await storePair(deps, lock.name, pair, options);
    return { received, pair, version };
  }

  /** Other accounts wait, too, if the endpoint has failed for several. @throws {BridgeFault} `fault` */
  async function endpointRefused(account: PartnerAccount, fault: BridgeFault): Promise<never> {
    const at = clock.now();
    // Rule: one-account-holds-no-other
    if (fault.mayBlame('endpoint') && account.renewal?.fault === undefined)
      await budgetStore.change((bridge) => endpointFailed(bridge, at, fault)).catch(() => undefined);
    throw fault;
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
