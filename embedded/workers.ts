import { byAdvert, type DeliveryGroup } from '../functions/fan-out/by-advert.ts';
import type { FanOut } from '../functions/fan-out/fan-out.ts';
import type { Clock } from '../shared/domain/clock.ts';
import { messageGroupOf } from '../shared/domain/queue/message-groups.ts';
import type { Delivery, Inbox, Settler } from '../shared/ports/deliveries.ts';
import type { Observer } from '../shared/ports/observer.ts';

export interface WorkerDeps {
  readonly inbox: Inbox;
  readonly settler: Settler;
  readonly fanOut: FanOut;
  readonly clock: Clock;
  readonly observer: Observer;
  /** Adverts fetched side by side. */
  readonly concurrency: number;
}

export interface Workers {
  /** Something was put into the queue. */
  wake(): void;
  /** The advert has its answer: the next one may be fetched while this one waits for the disk and the subscriber. */
  fetched(partnerAccount: string, advertId: string): void;
  /** Ends when what is in hand is settled. */
  stop(): Promise<void>;
}

/** How long a message may be in hand; ends with the process anyway, since the run lock frees what a dead one held. */
const visibilityMs = 15 * 60_000;
const handleMs = 60_000;
/** How often messages that were sent back for a while are looked for. */
const idleLookMs = 200;
const maxPerAdvert = 10;
/** Adverts that have their answer and are not settled yet: more means that disk or subscriber are slower than the service. */
const maxFinishing = 256;
const firstSettleWaitMs = 100;
const maxSettleWaitMs = 5_000;

/**
 * Takes messages from the queue and has the fan-out handle them, one advert to a worker: a slow advert keeps one worker
 * busy, and nobody waits for the slowest of a batch.
 */
export function startWorkers(deps: WorkerDeps): Workers {
  const { inbox, settler, fanOut, clock, observer, concurrency } = deps;
  const ready: DeliveryGroup[] = [];
  const stopping = new AbortController();
  /** Not fetched yet, by advert. */
  const fetching = new Set<string>();
  let busy = 0;
  /** Nothing could be had when it was last asked: until something is sent or settled. */
  let isEmpty = false;
  let wakeUp = new AbortController();

  // With a reason, for making one is what costs.
  const wake = () => wakeUp.abort('woken');

  async function work(group: DeliveryGroup): Promise<void> {
    const settlements = await fanOut.handleAdvert(group, { deadlineMs: clock.now() + handleMs });
    // Until it works, for what is in hand keeps its advert waiting. After a stop the next run frees it.
    for (let waitMs = firstSettleWaitMs; ; waitMs = Math.min(2 * waitMs, maxSettleWaitMs)) {
      try {
        return await settler.settle(settlements);
      } catch (error) {
        observer.error('what was handled could not be settled', { error });
        if (stopping.signal.aborted) return;
        await clock.sleep(waitMs, stopping.signal);
      }
    }
  }

  const hasRoom = () => fetching.size < concurrency && busy < concurrency + maxFinishing;

  function startReady(): void {
    while (hasRoom() && ready.length > 0) {
      const group = ready.shift() as DeliveryGroup;
      const advert = advertOf(group[0]);
      busy += 1;
      fetching.add(advert);
      void work(group).then(() => {
        busy -= 1;
        fetching.delete(advert);
        // A message may have waited for this one.
        isEmpty = false;
        goOn();
      });
    }
  }

  function goOn(): void {
    startReady();
    if (!isEmpty && ready.length <= concurrency / 2) wake();
  }

  function fetched(partnerAccount: string, advertId: string): void {
    if (fetching.delete(messageGroupOf({ partnerAccount, advertId }))) goOn();
  }

  async function receive(): Promise<number> {
    const room = 2 * concurrency - ready.length;
    if (room <= 0) return 0;
    const deliveries = await inbox.receive({ maxGroups: room, maxPerGroup: maxPerAdvert, visibilityMs });
    ready.push(...byAdvert(deliveries));
    isEmpty = deliveries.length === 0;
    return deliveries.length;
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      wakeUp = new AbortController();
      const received = await receive().catch((error: unknown) => {
        observer.error('the queue could not be read', { error });
        return 0;
      });
      startReady();
      if (received === 0 || !hasRoom()) await clock.sleep(idleLookMs, wakeUp.signal);
    }
    while (busy > 0) {
      wakeUp = new AbortController();
      await clock.sleep(idleLookMs, wakeUp.signal);
    }
  }

  const running = run();
  return {
    wake,
    fetched,
    stop: () => {
      stopping.abort();
      // Not begun: they stay in the queue, and the next run finds them.
      ready.length = 0;
      wake();
      return running;
    },
  };
}

const advertOf = ({ message, id }: Delivery): string => (message ? messageGroupOf(message) : id);
