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
  /** Called when a request waits, for nothing of its own, and when it goes on. */
  readonly onWaiting?: (isWaiting: boolean) => void;
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
 * @returns a function that throws the last {PartnerError} of a request
 */
export function createPacedRequests(options: PaceOptions): PacedRequests {
  const { clock, maxRequestsPerSecond, signal, onWaiting = () => undefined } = options;
  const intervalMs = 2_000 / maxRequestsPerSecond;
  let nextMs = 0;

  async function turn(): Promise<void> {
    const now = clock.now();
    const mine = Math.max(now, nextMs);
    nextMs = mine + intervalMs;
    if (mine > now) await sleepFor(clock, mine - now, signal);
  }

  return async (send) => {
    for (let tries = 1; ; tries += 1) {
      await turn();
      signal.throwIfAborted();
      try {
        return await send(clock.now() + requestMs);
      } catch (error) {
        const fault = asPartnerError(error);
        const isToWait = waits.includes(fault.code);
        if (!isToWait && (!fault.policy.retryable || tries >= maxTries)) throw fault;
        onWaiting(true);
        await sleepFor(clock, Math.max(fault.retryAfterMs ?? 0, backoffMs(tries, backoff)), signal);
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
