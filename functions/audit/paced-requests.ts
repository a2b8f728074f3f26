import { backoffMs } from '../../shared/domain/backoff.ts';
import type { Clock } from '../../shared/domain/clock.ts';
import { asPartnerError, type FaultKind } from '../../shared/domain/faults.ts';

/** Sends a request in its turn. @param send is given until when it may go on, ms since 1970 */
export type PacedRequests = <T>(send: (deadlineMs: number) => Promise<T>) => Promise<T>;

export interface PaceOptions {
  readonly clock: Clock;
  /** Of the whole bridge. */
  readonly maxRequestsPerSecond: number;
  readonly signal: AbortSignal;
  /** Ms since 1970: no request goes on after it. Default: there is no such moment. */
  readonly deadlineMs?: number | undefined;
  /** Called when a request waits, for nothing of its own, and when it goes on. */
  readonly onWaiting?: (isWaiting: boolean) => void;
}

/** What a request waits for comes after the deadline. */
export class OutOfTimeError extends Error {
  override readonly name = 'OutOfTimeError';
  readonly code = 'out-of-time';
}

/** With its attempts, its token and its turns in the rate budget. */
const requestMs = 60_000;
const maxTries = 5;
const backoff = { baseMs: 1_000, capMs: 60_000, random: () => 1 };
/** The service asked all of the bridge to wait, however long: the audit waits with it. */
const waits: readonly FaultKind[] = ['paused', 'rate-limited'];

/**
 * Starts requests at half the rate of the bridge at most, so that polling and fetching keep the other half, and repeats
 * those that fail through no fault of their own.
 *
 * @returns a function that throws the last {PartnerError} of a request, or {OutOfTimeError}
 */
export function createPacedRequests(options: PaceOptions): PacedRequests {
  const { clock, maxRequestsPerSecond, signal, onWaiting = () => undefined } = options;
  const { deadlineMs = Number.POSITIVE_INFINITY } = options;
  const intervalMs = 2_000 / maxRequestsPerSecond;
  let nextMs = 0;

  async function pause(ms: number): Promise<void> {
    if (clock.now() + ms >= deadlineMs) throw new OutOfTimeError('no time is left to wait');
    await sleepFor(clock, ms, signal);
  }

  async function turn(): Promise<void> {
    const now = clock.now();
    const mine = Math.max(now, nextMs);
    nextMs = mine + intervalMs;
    await pause(mine - now);
  }

  return async (send) => {
    for (let tries = 1; ; tries += 1) {
      await turn();
      signal.throwIfAborted();
      try {
        return await send(Math.min(clock.now() + requestMs, deadlineMs));
      } catch (error) {
        const fault = asPartnerError(error);
        const isToWait = waits.includes(fault.code);
        if (!isToWait && (!fault.policy.retryable || tries >= maxTries)) throw fault;
        onWaiting(true);
        await pause(Math.max(fault.retryAfterMs ?? 0, backoffMs(tries, backoff)));
        onWaiting(false);
      }
    }
  };
}

const sliceMs = 1_000;

/**
 * Sleeps, a second at a time.
 *
 * @param onSlice told before each slice how much is left
 * @throws the reason of `signal`, soon after it was aborted
 */
export async function sleepFor(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
  onSlice: (leftMs: number) => void = () => undefined,
): Promise<void> {
  const untilMs = clock.now() + ms;
  for (let leftMs = ms; leftMs > 0; leftMs = untilMs - clock.now()) {
    signal.throwIfAborted();
    onSlice(leftMs);
    await clock.sleep(Math.min(leftMs, sliceMs));
  }
}
