/**
 * Access tokens of partner accounts. Reads them, keeps them a while, and when one has run out asks the refresh-token
 * stage, which alone writes them: what was refreshed is read again, never passed on.
 *
 * @see partner-api.md §5.3
 */
import { pauseOf, stopOf } from '../domain/accounts.ts';
import { type Clock, systemClock } from '../domain/clock.ts';
import { asFault, type PartnerFault } from '../domain/faults.ts';
import type { PartnerAccounts, TokenReader } from '../domain/ports.ts';
import type { AccessToken, RefreshOutcome, RefreshRequester, Rejection, TokenSource } from './ports.ts';
import { createRefusals, notRenewedFault, pausedFault, refreshFault, stoppedFault } from './refusals.ts';

export interface TokenSourceOptions {
  readonly reader: TokenReader;
  readonly requester: RefreshRequester;
  /**
   * Where given, a stop or a pause is seen there first, without asking for a refresh; and a token is used as long as its
   * version is the one that stands there, so that each version of a secret is read once.
   */
  readonly accounts?: Pick<PartnerAccounts, 'read'>;
  readonly clock?: Clock;
  /** How long a token that works is used before it is looked whether there is a newer one. Default 300,000. */
  readonly maxAgeMs?: number;
}

interface Kept extends AccessToken {
  readonly expiresAt: number;
  readonly readAt: number;
}

interface Renewal {
  readonly ended: Promise<Kept>;
  /** Of the caller that began it. */
  readonly deadlineMs: number;
}

/** Between two looks at a secret that somebody else is about to write. */
const lookMs = 500;

/** Creates the source; one for each process, so that all its callers share what is read and refreshed. */
export function createTokenSource(options: TokenSourceOptions): TokenSource {
  const { reader, requester, accounts, clock = systemClock, maxAgeMs = 300_000 } = options;
  const kept = new Map<string, Kept>();
  const refusals = createRefusals(clock);
  /** The version that was rejected last, and why: not to be tried again. */
  const rejections = new Map<string, { readonly version: string; readonly because: Rejection }>();
  const reads = new Map<string, Promise<Kept>>();
  const looks = new Map<string, Promise<boolean>>();
  const renewals = new Map<string, Renewal>();

  /** Reads the secret; callers side by side share one read. */
  const read = (name: string): Promise<Kept> => shared(reads, name, () => readSecret(name));

  async function readSecret(name: string): Promise<Kept> {
    const found = await reader.read(name).catch((error: unknown) => Promise.reject(asFault(error)));
    if (!found) {
      kept.delete(name);
      throw stoppedFault(name, 'it has no credentials');
    }
    const { pair, version } = found;
    const known = kept.get(name);
    // The same object as before, where it is the same token: headers made from it are kept, too.
    const token = known?.version === version ? known.token : pair.accessToken;
    const fresh = { token, version, expiresAt: pair.expiresAt, readAt: clock.now() };
    kept.set(name, fresh);
    return fresh;
  }

  const isGood = ({ expiresAt }: Kept) => expiresAt > clock.now();
  const isUsable = (name: string, found: Kept) =>
    isGood(found) && rejections.get(name)?.version !== found.version;

  const isCurrent = (name: string, known: Kept): Promise<boolean> =>
    shared(looks, name, () => confirm(name, known));

  /** A reading of the account's row costs a fortieth of one of the secret. */
  async function confirm(name: string, known: Kept): Promise<boolean> {
    const account = await accounts?.read(name).catch(() => undefined);
    if (account?.value.token?.version !== known.version) return false;
    if (kept.get(name) === known) kept.set(name, { ...known, readAt: clock.now() });
    return true;
  }

  async function current(name: string, deadlineMs: number): Promise<AccessToken> {
    const known = kept.get(name);
    if (known && isUsable(name, known)) {
      if (clock.now() - known.readAt < maxAgeMs || (await isCurrent(name, known))) return known;
    }
    refusals.check(name);
    const found = await read(name);
    if (isUsable(name, found)) return found;
    // One that has run out, or was rejected before, would only burn a request.
    const rejection = rejections.get(name);
    const because = rejection?.version === found.version ? rejection.because : 'expired';
    return renewed(name, found.version, because, deadlineMs);
  }

  async function renewed(
    name: string,
    rejected: string,
    because: Rejection,
    deadlineMs: number,
  ): Promise<AccessToken> {
    const known = kept.get(name);
    if (known && known.version !== rejected && isUsable(name, known)) return known;
    rejections.set(name, { version: rejected, because });
    refusals.check(name);
    try {
      return await renewal(name, rejected, because, deadlineMs);
    } catch (error) {
      const fault = asFault(error);
      refusals.note(name, fault);
      throw fault;
    }
  }

  /** The renewal that is under way, or a new one; one at a time for each version. */
  async function renewal(
    name: string,
    rejected: string,
    because: Rejection,
    deadlineMs: number,
  ): Promise<Kept> {
    const key = `${name} ${rejected} ${because}`;
    const running = renewals.get(key);
    if (!running) {
      const ended = renew(name, rejected, because, deadlineMs).finally(() => renewals.delete(key));
      renewals.set(key, { ended, deadlineMs });
      return ended;
    }
    if (running.deadlineMs >= deadlineMs) return beforeDeadline(running, name, deadlineMs);
    const found = await running.ended.catch((error: unknown) => {
      // That the time of another caller was up is not the last word for one that has more.
      const ranOut = asFault(error).code === 'passing' && clock.now() + lookMs >= running.deadlineMs;
      if (!ranOut) throw error;
    });
    return found ?? renewal(name, rejected, because, deadlineMs);
  }

  /** Until there is a token of another version, or a reason why there will not be one. */
  async function renew(
    name: string,
    rejected: string,
    because: Rejection,
    deadlineMs: number,
  ): Promise<Kept> {
    for (let avoided = rejected; ; ) {
      const found = await read(name);
      if (found.version !== avoided) {
        if (isGood(found)) return found;
        avoided = found.version;
      }
      await refuseIfWaiting(name);
      // Of a version other than the rejected one nothing is known but that it has run out.
      const why = avoided === rejected ? because : 'expired';
      const outcome = await requester
        .refresh(name, avoided, why, deadlineMs)
        .catch((error: unknown): RefreshOutcome => failedOf(asFault(error)));
      const waitMs = outcome.kind === 'renewed' ? 0 : waitOf(outcome, name);
      if (waitMs === 0) {
        const again = await read(name);
        if (again.version !== avoided && isGood(again)) return again;
      }
      const pauseMs = Math.max(waitMs, lookMs);
      if (clock.now() + pauseMs >= deadlineMs) throw notRenewedFault(name, pauseMs);
      await clock.sleep(pauseMs);
    }
  }

  /** @returns how long to wait when somebody else is at it; throws in every other case */
  function waitOf(outcome: Exclude<RefreshOutcome, { kind: 'renewed' }>, name: string): number {
    switch (outcome.kind) {
      case 'busy':
        return Math.max(1, outcome.retryAfterMs);
      case 'paused':
        throw pausedFault(name, outcome.reason, outcome.untilMs - clock.now());
      case 'stopped':
        throw stoppedFault(name, outcome.reason);
      case 'failed':
        throw refreshFault(name, outcome.fault, outcome.reason);
    }
  }

  async function refuseIfWaiting(name: string): Promise<void> {
    const account = (await accounts?.read(name))?.value;
    if (!account) return;
    const stop = stopOf(account);
    if (stop) throw stoppedFault(name, stop.reason);
    const pause = pauseOf(account, clock.now());
    if (pause) throw pausedFault(name, pause.reason, pause.until - clock.now());
  }

  /** Others may have more time than this caller: what they share goes on without it. */
  async function beforeDeadline(renewal: Renewal, name: string, deadlineMs: number): Promise<Kept> {
    if (renewal.deadlineMs === deadlineMs) return renewal.ended;
    const done = new AbortController();
    const late = clock.sleep(deadlineMs - clock.now(), done.signal).then((): Kept => {
      throw notRenewedFault(name, lookMs);
    });
    late.catch(() => undefined);
    try {
      return await Promise.race([renewal.ended, late]);
    } finally {
      done.abort();
    }
  }

  return { current, renewed };
}

/** The promise under `key`, begun if there is none; forgotten when it ends. */
function shared<T>(running: Map<string, Promise<T>>, key: string, begin: () => Promise<T>): Promise<T> {
  const known = running.get(key);
  if (known) return known;
  const begun = begin().finally(() => running.delete(key));
  running.set(key, begun);
  return begun;
}

const failedOf = ({ code, message }: PartnerFault): RefreshOutcome => ({
  kind: 'failed',
  fault: code,
  reason: message,
});
