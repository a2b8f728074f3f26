import type { FanOut } from '../functions/fan-out/fan-out.ts';
import type { Clock } from '../shared/domain/clock.ts';
import { backoffMs } from '../shared/domain/concurrency.ts';
import { type Loop, startLoop } from '../shared/domain/loop.ts';
import type { Observer } from '../shared/ports/observer.ts';
import type { Inbox, Settlement } from '../shared/ports/queue.ts';

export interface WorkerDeps {
  readonly queue: Inbox;
  readonly fanOut: Pick<FanOut, 'handleEach'>;
  readonly clock: Clock;
  readonly observer: Observer;
  /** Number of connections to the partner service. */
  readonly concurrency: number;
}

/** Longer than any work on a message takes. The messages of a dead process are released on the next start. */
const visibilityMs = 15 * 60_000;
const handleMs = 60_000;
/** How often to check the queue for messages whose delay has ended. */
const idleLookMs = 200;
const maxPerAdvert = 10;
const settleBackoff = { baseMs: 200, capMs: 5_000, random: Math.random };

/**
 * Takes messages from the queue and passes each advert to the fan-out separately, so that a slow one delays no other.
 * Once stopped, they take no more messages, and end when those in hand are settled.
 */
export function startWorkers(deps: WorkerDeps): Loop {
  const { queue, fanOut, clock, observer, concurrency } = deps;
  // So that the connections stay busy while other adverts wait for the disk.
  const maxInHand = 2 * concurrency;
  let inHand = 0;

  async function settle(settlements: readonly Settlement[], stopping: AbortSignal): Promise<void> {
    // Repeated until it succeeds, because an unsettled message blocks its advert. After a stop, the next run handles
    // it again.
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await queue.settle(settlements);
      } catch (error) {
        observer.error('the messages of an advert could not be settled', { error });
        if (stopping.aborted) return;
        await clock.sleep(backoffMs(attempt, settleBackoff), stopping);
      }
    }
  }

  /** @returns whether there was anything to do */
  async function takeWork(stopping: AbortSignal): Promise<boolean> {
    const maxGroups = maxInHand - inHand;
    if (maxGroups === 0) return false;
    const deliveries = await queue.receive({ maxGroups, maxPerGroup: maxPerAdvert, visibilityMs });
    // Stopped in the meantime: the next run receives these messages.
    if (stopping.aborted) return false;
    for (const advert of fanOut.handleEach(deliveries, { deadlineMs: clock.now() + handleMs })) {
      inHand += 1;
      void advert
        .then((settlements) => settle(settlements, stopping))
        .then(() => {
          inHand -= 1;
          loop.wake();
        });
    }
    return deliveries.length > 0;
  }

  const loop = startLoop(clock, async (stopping) => {
    if (stopping.aborted) return inHand === 0 ? undefined : idleLookMs;
    const isBusy = await takeWork(stopping).catch((error: unknown) => {
      observer.error('the queue could not be read', { error });
      return false;
    });
    return isBusy ? 0 : idleLookMs;
  });
  return loop;
}
