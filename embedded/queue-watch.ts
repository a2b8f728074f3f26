import type { BridgeSettings } from '../shared/contract/settings.ts';
import { type Clock, toInstant } from '../shared/domain/clock.ts';
import { PartnerError } from '../shared/domain/faults.ts';
import type { Observer } from '../shared/ports/observer.ts';
import type { BookKeeper } from '../shared/state/books.ts';

export interface QueueWatchDeps {
  readonly clock: Clock;
  readonly observer: Observer;
  readonly bookKeeper: Pick<BookKeeper, 'queue'>;
  /** Until when the service asked the whole bridge to send nothing, ms since 1970. */
  readonly pausedUntil: () => Promise<number>;
  /**
   * Number of messages of stopped partner accounts, or of those paused by an operator: they do not count when
   * checking for an empty queue.
   */
  readonly waitingForPerson: () => Promise<number>;
  /** How long the settings alone may delay a message, ms ({@link longestDelayMs}). Default 0. */
  readonly delayMs?: number;
}

/**
 * The confirmation of a "not found", and the wait for the rate budget: at the lowest rates, a few requests for others
 * take minutes.
 */
export const longestDelayMs = ({
  confirmUnavailableSeconds,
  maxRequestsPerSecond,
}: Pick<BridgeSettings, 'confirmUnavailableSeconds' | 'maxRequestsPerSecond'>): number =>
  confirmUnavailableSeconds * 1000 + (slotsBefore * 1000) / maxRequestsPerSecond;

const lookMs = 20;
/** After this time without any progress, messages that fail again and again are left to a person. */
const stuckMs = 120_000;
/** Requests for which the rate budget may be used before a message's next try. */
const slotsBefore = 30;

/** Checks, for a run until idle, whether the queue becomes empty. */
export function createQueueWatch(deps: QueueWatchDeps) {
  const { clock, observer, bookKeeper, pausedUntil, waitingForPerson, delayMs = 0 } = deps;
  let last = { left: -1, at: clock.now() };
  let warnedOf = 0;

  /** Whether a pause that the service asked for is in force; each pause is logged once. */
  async function isPaused(): Promise<boolean> {
    const until = await pausedUntil();
    if (until <= clock.now()) return false;
    if (until !== warnedOf) observer.warn('the service asked for a pause', { until: toInstant(until) });
    warnedOf = until;
    return true;
  }

  /** Waits until the queue is empty, `untilMs` is reached, or the remaining messages fail again and again. */
  async function untilEmpty(
    signal: AbortSignal,
    untilMs: number,
  ): Promise<'empty' | 'poll-due' | 'stopped' | PartnerError> {
    for (; !signal.aborted; await clock.sleep(lookMs, signal)) {
      const { waiting } = await bookKeeper.queue();
      const left = waiting === 0 ? 0 : waiting - (await waitingForPerson());
      if (left <= 0) return 'empty';
      if (clock.now() >= untilMs) return 'poll-due';
      if (left !== last.left || (await isPaused())) last = { left, at: clock.now() };
      if (clock.now() - last.at >= stuckMs + delayMs) return stuck(left);
    }
    return 'stopped';
  }

  return { isPaused, untilEmpty };
}

const stuck = (left: number): PartnerError =>
  new PartnerError(
    'transient',
    `${left} messages fail again and again; they stay in the queue for the next run`,
  );
