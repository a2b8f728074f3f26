import { backoffMs } from '../../shared/domain/backoff.ts';
import type { Clock } from '../../shared/domain/clock.ts';
import { asPartnerError, type FaultKind, PartnerError } from '../../shared/domain/faults.ts';

/** Sends a request in its turn. @param send is given until when it may go on, ms since 1970 */
export type PacedRequests = <T>(send: (deadlineMs: number) => Promise<T>) => Promise<T>;

export interface PaceOptions {
  readonly clock: Clock;
  /** Of the whole bridge. Default 10. */
  readonly maxRequestsPerSecond?: number | undefined;
  readonly signal: AbortSignal;
  /** Ms since 1970: no request goes on after it. Default: there is no such moment. */
  readonly deadlineMs?: number | undefined;
  /**
   * Asked of the service where the tries of a request are used up and none was answered before: is it the service that
   * fails? Else what was answered last is asked again.
   */
  readonly probe: (deadlineMs: number) => Promise<unknown>;
  /** Called when a request waits, for nothing of its own, and when it goes on. */
  readonly onWaiting?: (isWaiting: boolean) => void;
}

/** What a request waits for comes after the deadline. */
export class OutOfTimeError extends Error {
  override readonly name = 'OutOfTimeError';
  readonly code = 'out-of-time';
}

/** The tries of a request are used up while the service answers another: it is what this one asks for that fails. */
export class OneFailsError extends PartnerError {}

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
 * @returns a function that throws the last {PartnerError} of a request, {OneFailsError} where it concerns no other, or {OutOfTimeError}
 */
export function createPacedRequests(options: PaceOptions): PacedRequests {
  const { clock, maxRequestsPerSecond = 10, signal, probe, onWaiting = () => undefined } = options;
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

  const untilMs = (): number => Math.min(clock.now() + requestMs, deadlineMs);

  /** The last request that was answered. */
  let answered: ((deadlineMs: number) => Promise<unknown>) | undefined;

  async function isAnswering(): Promise<boolean> {
    await turn();
    return (answered ?? probe)(untilMs()).then(
      () => true,
      () => false,
    );
  }

  return async (send) => {
    for (let tries = 1; ; tries += 1) {
      await turn();
      signal.throwIfAborted();
      try {
        const answer = await send(untilMs());
        answered = send;
        return answer;
      } catch (error) {
        const fault = asPartnerError(error);
        const isToWait = waits.includes(fault.code);
        if (!isToWait && !fault.policy.retryable) throw fault;
        if (!isToWait && tries >= maxTries) {
          if (!(await isAnswering())) throw fault;
          throw new OneFailsError(fault.code, fault.message, { cause: fault });
        }
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
