import { backoffMs } from '../../shared/domain/backoff.ts';
import type { Clock } from '../../shared/domain/clock.ts';
import { asPartnerError, type FaultKind, PartnerError } from '../../shared/domain/faults.ts';

/** Sends a request when its turn comes. @param send receives the deadline of the request, ms since 1970 */
export type PacedRequests = <T>(send: (deadlineMs: number) => Promise<T>) => Promise<T>;

export interface PaceOptions {
  readonly clock: Clock;
  /** Request rate of the whole bridge. Default 10. */
  readonly maxRequestsPerSecond?: number | undefined;
  readonly signal: AbortSignal;
  /** Ms since 1970: no request continues after this moment. Default: no deadline. */
  readonly deadlineMs?: number | undefined;
  /**
   * A request that shows whether the service answers at all. It is sent when all tries of a request have failed and no
   * other request has succeeded yet; otherwise the last successful request is repeated for this purpose.
   */
  readonly probe: (deadlineMs: number) => Promise<unknown>;
  /** Called when a request begins to wait for the service, and when it continues. */
  readonly onWaiting?: (isWaiting: boolean) => void;
}

/** The deadline comes before the end of a request's wait. */
export class OutOfTimeError extends Error {
  override readonly name = 'OutOfTimeError';
  readonly code = 'out-of-time';
}

/** All tries of a request failed although the service answers others: the fault lies in the requested advert. */
export class OneFailsError extends PartnerError {}

/** Time limit of a request, including its attempts, its token and its wait in the rate budget. */
const requestMs = 60_000;
const maxTries = 5;
const backoff = { baseMs: 1_000, capMs: 60_000, random: () => 1 };
/** Faults for which the whole bridge waits: the audit waits too, without a limit of tries. */
const waits: readonly FaultKind[] = ['paused', 'rate-limited'];

/**
 * Starts requests at no more than half of the bridge's rate, so that polling and fetching keep the other half, and
 * retries requests after retryable faults.
 *
 * @returns a function that throws the last {PartnerError} of a request, {OneFailsError} if only this request fails, or
 * {OutOfTimeError}
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

  /** The last request that succeeded. */
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
 * Sleeps in slices of a second.
 *
 * @param onSlice called before each slice with the remaining time
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
