/**
 * Access tokens of partner accounts. Reads them, keeps them a while, and when one has run out asks the refresh-token
 * stage, which alone writes them: what was refreshed is read again, never passed on.
 *
 * @see partner-api.md §5.3
 */
import { pauseOf, stopOf } from '../domain/accounts.ts';
import { type Clock, systemClock } from '../domain/clock.ts';
import { asFault, faultKinds, faultPolicies, PartnerFault } from '../domain/faults.ts';
import type { PartnerAccounts, TokenReader } from '../domain/ports.ts';
import type { AccessToken, RefreshOutcome, RefreshRequester, Rejection, TokenSource } from './ports.ts';

export interface TokenSourceOptions {
  readonly reader: TokenReader;
  readonly requester: RefreshRequester;
  /** Where given, a stop or a pause is seen there first, without asking for a refresh. */
  readonly accounts?: Pick<PartnerAccounts, 'read'>;
  readonly clock?: Clock;
  /** How long a token that works is used before the secret is looked at again. Default 300,000. */
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

/** A stop or a pause is believed this long without asking again, so that each of a thousand messages need not ask. */
const refusalMs = 5_000;
/** Between two looks at a secret that somebody else is about to write. */
const lookMs = 500;

/** Creates the source; one for each process, so that all its callers share what is read and refreshed. */
export function createTokenSource(options: TokenSourceOptions): TokenSource {
  const { reader, requester, accounts, clock = systemClock, maxAgeMs = 300_000 } = options;
  const kept = new Map<string, Kept>();
  const refusals = new Map<
    string,
    { readonly fault: PartnerFault; readonly at: number; readonly untilMs: number }
  >();
  const reads = new Map<string, Promise<Kept>>();
  const renewals = new Map<string, Renewal>();

  /** Reads the secret; callers side by side share one read. */
  const read = (name: string): Promise<Kept> => shared(reads, name, () => readSecret(name));

  async function readSecret(name: string): Promise<Kept> {
    const found = await reader.read(name).catch((error: unknown) => Promise.reject(asFault(error)));
    if (!found) {
      kept.delete(name);
      throw new PartnerFault('account-stopped', `partner account ${name} has no credentials`);
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

  async function current(name: string, deadlineMs: number): Promise<AccessToken> {
    const known = kept.get(name);
    if (known && isGood(known) && clock.now() - known.readAt < maxAgeMs) return known;
    refuseAgain(name);
    const found = await read(name);
    // One that has run out would only burn a request.
    return isGood(found) ? found : renewed(name, found.version, 'token-rejected', deadlineMs);
  }

  async function renewed(
    name: string,
    rejected: string,
    because: Rejection,
    deadlineMs: number,
  ): Promise<AccessToken> {
    const known = kept.get(name);
    if (known && known.version !== rejected && isGood(known)) return known;
    refuseAgain(name);
    const key = `${name} ${rejected} ${because}`;
    const running = renewals.get(key);
    try {
      if (running && running.deadlineMs >= deadlineMs) return await beforeDeadline(running, name, deadlineMs);
      // One with less time than this caller has is waited for too, but that its time was up is not the last word.
      const earlier = await running?.ended.catch((error: unknown) => {
        const ranOut = asFault(error).code === 'passing' && clock.now() + lookMs >= running.deadlineMs;
        if (!ranOut) throw error;
      });
      return earlier ?? (await begin(key, deadlineMs, () => renew(name, rejected, because, deadlineMs)));
    } catch (error) {
      const fault = asFault(error);
      if (fault.code === 'account-stopped' || fault.code === 'account-paused') keepRefusal(name, fault);
      throw fault;
    }
  }

  function begin(key: string, deadlineMs: number, work: () => Promise<Kept>): Promise<Kept> {
    const running = renewals.get(key);
    if (running) return running.ended;
    const ended = work().finally(() => renewals.delete(key));
    renewals.set(key, { ended, deadlineMs });
    return ended;
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
      const outcome = await requester
        .refresh(name, avoided, because, deadlineMs)
        .catch((error: unknown): RefreshOutcome => failedOf(asFault(error)));
      const waitMs = outcome.kind === 'renewed' ? 0 : waitOf(outcome, name);
      if (waitMs === 0) {
        const again = await read(name);
        if (again.version !== avoided && isGood(again)) return again;
      }
      const pauseMs = Math.max(waitMs, lookMs);
      if (clock.now() + pauseMs >= deadlineMs) throw stillBusy(name, pauseMs);
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
        throw faultOfRefresh(name, outcome.fault, outcome.reason);
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

  function keepRefusal(name: string, fault: PartnerFault): void {
    const at = clock.now();
    refusals.set(name, { fault, at, untilMs: at + Math.min(refusalMs, fault.retryAfterMs ?? refusalMs) });
  }

  function refuseAgain(name: string): void {
    const refusal = refusals.get(name);
    if (!refusal) return;
    const { fault, at, untilMs } = refusal;
    if (clock.now() >= untilMs) refusals.delete(name);
    else if (fault.retryAfterMs === undefined) throw fault;
    else throw pausedFault(name, fault.message, at + fault.retryAfterMs - clock.now());
  }

  /** Others may have more time than this caller: what they share goes on without it. */
  async function beforeDeadline(renewal: Renewal, name: string, deadlineMs: number): Promise<Kept> {
    if (renewal.deadlineMs === deadlineMs) return renewal.ended;
    const done = new AbortController();
    const late = clock.sleep(deadlineMs - clock.now(), done.signal).then((): Kept => {
      throw stillBusy(name, lookMs);
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

const stoppedFault = (name: string, reason: string) =>
  new PartnerFault('account-stopped', `partner account ${name} is stopped: ${reason}`);

const pausedFault = (name: string, reason: string, waitMs: number) =>
  new PartnerFault('account-paused', `partner account ${name} waits: ${reason}`, {
    retryAfterMs: Math.max(1, waitMs),
  });

const stillBusy = (name: string, retryAfterMs: number) =>
  new PartnerFault('passing', `the token of partner account ${name} was not renewed in time`, {
    retryAfterMs,
  });

const failedOf = ({ code, message }: PartnerFault): RefreshOutcome => ({
  kind: 'failed',
  fault: code,
  reason: message,
});

/** A refresh that failed is never the fault of the advert it was meant for, so it is not to be dead-lettered by tries. */
function faultOfRefresh(name: string, kind: string, reason: string): PartnerFault {
  const known = faultKinds.find((candidate) => candidate === kind) ?? 'passing';
  const blamesAdvert = faultPolicies[known].deadLettered === 'by-tries';
  return new PartnerFault(blamesAdvert ? 'passing' : known, `token of partner account ${name}: ${reason}`);
}
