/**
 * The one place that refreshes tokens: on demand when drain or fan-out met a rejected one, and on schedule. One refresh
 * at a time for each partner account, over all functions and processes; the rules of partner-api.md §5.3 decide the
 * rest (docs/decisions/tokens.md).
 */
import { metrics } from '../../shared/contract/names.ts';
import { changeAccount, pauseOf, stopOf } from '../../shared/domain/accounts.ts';
import { backoffMs } from '../../shared/domain/backoff.ts';
import { asFault, PartnerFault } from '../../shared/domain/faults.ts';
import type { EventPublisher, Observer, PartnerAccount, TokenPair } from '../../shared/domain/ports.ts';
import { sideBySide } from '../../shared/domain/side-by-side.ts';
import type { RefreshOutcome, Rejection } from '../../shared/partner-api/ports.ts';
import { payOwedEvents, stopped } from './account-writes.ts';
import type { ApplicationSecret, TokenEndpoint, TokenVault } from './ports.ts';
import { busy, type LockDeps, withRefreshLock } from './refresh-lock.ts';
import { missingScopes, pairOf } from './tokens.ts';

export interface RefreshDeps extends LockDeps {
  readonly vault: TokenVault;
  readonly application: ApplicationSecret;
  readonly endpoint: TokenEndpoint;
  readonly events: EventPublisher;
  readonly observer: Observer;
  readonly random: () => number;
  readonly settings: LockDeps['settings'] & { readonly requiredScope: string };
}

export interface RefreshRequest {
  readonly partnerAccount: string;
  /** The version whose token was rejected; nothing happens when a newer one is current. */
  readonly rejectedVersion: string;
  readonly because: Rejection;
}

export interface CallOptions {
  readonly deadlineMs: number;
}

export interface SweepReport {
  readonly refreshed: readonly string[];
  readonly failed: readonly string[];
}

const busyMs = 500;
/** Short at first: the service may only be slow to tell its own parts of a new token. */
const pauseBackoff = { baseMs: 5_000, capMs: 3_600_000 };
const dayMs = 86_400_000;
/** A refresh token unused for 30 days dies (partner-api.md §5.3 rule 4); a person hears of it a week before. */
const idleAlarmMs = 23 * dayMs;

export function createRefreshToken(deps: RefreshDeps) {
  const { accounts, vault, observer, clock, settings } = deps;

  async function refresh(request: RefreshRequest, options: CallOptions): Promise<RefreshOutcome> {
    try {
      return await refreshOnce(request, options);
    } catch (error) {
      return failed(request.partnerAccount, asFault(error));
    }
  }

  async function isCurrent(name: string, version: string): Promise<boolean> {
    return (await vault.read(name))?.version === version;
  }

  async function refreshOnce(request: RefreshRequest, options: CallOptions): Promise<RefreshOutcome> {
    const { partnerAccount: name, rejectedVersion } = request;
    const account = (await accounts.read(name))?.value;
    if (!account) return { kind: 'stopped', reason: `partner account ${name} is not connected` };
    const stop = stopOf(account);
    if (stop) return { kind: 'stopped', reason: stop.reason };
    // The account may not have been told of the newest secret (a crash in between), or not yet: the secret decides.
    if (account.token?.version !== rejectedVersion && !(await isCurrent(name, rejectedVersion))) {
      return { kind: 'renewed' };
    }
    const pause = pauseOf(account, clock.now());
    if (pause) return { kind: 'paused', untilMs: pause.until, reason: pause.reason };

    const outcome = await withRefreshLock(deps, name, () => refreshLocked(request, options));
    return outcome === busy ? { kind: 'busy', retryAfterMs: busyMs } : outcome;
  }

  async function refreshLocked(request: RefreshRequest, options: CallOptions): Promise<RefreshOutcome> {
    const { partnerAccount: name, rejectedVersion, because } = request;
    const current = await vault.read(name);
    if (!current) return stopAccount(name, 'refresh-token-rejected', rejectedVersion);
    // After a crash between the two writes the account is told now.
    await changeAccount(accounts, name, (now) =>
      now.token?.version === current.version ? undefined : withToken(now, current.version, current.pair),
    );
    if (current.version !== rejectedVersion) return { kind: 'renewed' };
    if (because === 'scope-insufficient') return stopAccount(name, 'scope-insufficient', current.version);
    const application = await deps.application.read();
    const grant = { type: 'refresh_token', refreshToken: current.pair.refreshToken } as const;
    const received = await deps.endpoint.requestTokens(application, grant, options).catch(asFault);
    if (received instanceof Error) return refused(name, current.version, received);

    // Stored before anything else is done with it (I6); the verdicts on it come after.
    const pair = pairOf(received, current.pair) as TokenPair;
    const version = await vault.write(name, pair);
    if (received.answer.access_token === undefined) return withoutAccess(name, version, pair);
    // What has run out by our clock alone may come back with a moment left: the service has not rejected it.
    const sameAgain = because === 'token-rejected' && pair.accessToken.equals(current.pair.accessToken);
    return judge(name, version, pair, sameAgain);
  }

  /** The refresh token that the answer had is kept; it is tried again with that. */
  async function withoutAccess(name: string, version: string, pair: TokenPair): Promise<RefreshOutcome> {
    await changeAccount(accounts, name, (now) => withToken(now, version, pair));
    return failed(
      name,
      new PartnerFault('contract-broken', 'the token endpoint returned a refresh token, but no access token'),
    );
  }

  /** What the new pair is good for. */
  async function judge(
    name: string,
    version: string,
    pair: TokenPair,
    sameAgain: boolean,
  ): Promise<RefreshOutcome> {
    const missing = missingScopes(pair.scope, settings.requiredScope);
    const account = await changeAccount(accounts, name, (now) => {
      const told = withToken(now, version, pair);
      if (missing.length > 0) return stopped(told, 'scope-insufficient', version, clock.now());
      return sameAgain ? paused(told, now.pause?.attempts ?? 0) : told;
    });
    if (account) await payOwedEvents(deps, account);
    if (missing.length > 0) {
      observer.error('the scope granted no longer suffices', { partnerAccount: name, missing });
      return { kind: 'stopped', reason: 'scope-insufficient' };
    }
    if (sameAgain && account?.pause) {
      observer.warn('the service returned the very token that it rejects', { partnerAccount: name });
      return { kind: 'paused', untilMs: account.pause.until, reason: account.pause.reason };
    }
    observer.info('token refreshed', { partnerAccount: name, tokenVersion: version });
    return { kind: 'renewed' };
  }

  function paused(account: PartnerAccount, earlierAttempts: number): PartnerAccount {
    const attempts = earlierAttempts + 1;
    const waitMs = pauseBackoff.baseMs / 2 + backoffMs(attempts, { ...pauseBackoff, random: deps.random });
    return { ...account, pause: { until: clock.now() + waitMs, reason: 'token-rejected-again', attempts } };
  }

  async function refused(name: string, version: string, fault: PartnerFault): Promise<RefreshOutcome> {
    if (fault.code !== 'grant-rejected') return failed(name, fault);
    // Believed only after a second look: somebody may have connected the account in this very moment.
    const again = await vault.read(name);
    if (again && again.version !== version) return { kind: 'renewed' };
    return stopAccount(name, 'refresh-token-rejected', version);
  }

  async function stopAccount(
    name: string,
    reason: 'refresh-token-rejected' | 'scope-insufficient',
    tokenVersion: string,
  ): Promise<RefreshOutcome> {
    const account = await changeAccount(accounts, name, (now) => {
      if (now.token && now.token.version !== tokenVersion) return undefined;
      return stopped(now, reason, tokenVersion, clock.now());
    });
    if (!account || !stopOf(account)) return { kind: 'renewed' };
    observer.error('partner account stopped: it has to be connected again', { partnerAccount: name, reason });
    await payOwedEvents(deps, account);
    return { kind: 'stopped', reason };
  }

  function failed(name: string, fault: PartnerFault): RefreshOutcome {
    const fields = { partnerAccount: name, fault: fault.code, reason: fault.message, error: fault.cause };
    if (fault.policy.needsAttention) {
      observer.count(metrics.needsAttention, 1);
      observer.error('the token cannot be refreshed until somebody acts', fields);
    } else {
      observer.warn('the token could not be refreshed: it is tried again', fields);
    }
    return { kind: 'failed', fault: fault.code, reason: fault.message };
  }

  /** On schedule: publishes what is owed and refreshes every token that has run out, a paused account's too. */
  async function sweep(options: CallOptions): Promise<SweepReport> {
    const report = { refreshed: [] as string[], failed: [] as string[] };
    const known = await accounts.list(({ message }) => {
      observer.count(metrics.needsAttention, 1);
      observer.error('a stored row cannot be read: that token is not looked after', { reason: message });
    });
    await sideBySide(known, 5, async (account) => {
      const { name, token } = account;
      await payOwedEvents(deps, account);
      if (!token || stopOf(account)) return;
      warnOfIdleness(account);
      if (token.expiresAt > clock.now()) return;
      const outcome = await refresh(
        { partnerAccount: name, rejectedVersion: token.version, because: 'expired' },
        options,
      );
      if (outcome.kind === 'renewed') report.refreshed.push(name);
      if (outcome.kind === 'failed' || outcome.kind === 'stopped') report.failed.push(name);
    });
    return report;
  }

  function warnOfIdleness({ name, token }: PartnerAccount): void {
    if (!token || clock.now() - token.usedAt < idleAlarmMs) return;
    observer.count(metrics.needsAttention, 1);
    observer.error('the refresh token dies within a week unless it is used', { partnerAccount: name });
  }

  return { refresh, sweep };
}

export type RefreshToken = ReturnType<typeof createRefreshToken>;

function withToken(account: PartnerAccount, version: string, pair: TokenPair): PartnerAccount {
  const { pause: _pause, ...rest } = account;
  return { ...rest, token: { version, expiresAt: pair.expiresAt, usedAt: pair.obtainedAt } };
}
