import type { FeedName } from '../contract/feeds.ts';
import { systemClock } from '../domain/clock.ts';
import { messageGroupOf } from '../domain/queue/message-groups.ts';
import type { ChangedAdvertsQueue } from '../ports/changed-adverts-queue.ts';
import type { Edges } from './batches/batches.ts';
import { countMessages } from './sqs/queue-counts.ts';
import { type Queue, sendBatches } from './sqs/send-batches.ts';

export interface ChangedAdvertsQueueOptions extends Edges {
  readonly queue: Queue;
  /** How deep the queue is for one feed of a partner account; default: as deep as the whole queue. */
  readonly accountDepth?: {
    /** While the whole queue is below this, no single feed's share needs to be known. */
    readonly from: number;
    /** The feed's messages in flight, by its books. */
    readonly inFlightOf: (partnerAccount: string, feed: FeedName) => Promise<number>;
  };
}

/** How long the queue's figure is used; what is sent in between is added to it. */
const countedForMs = 5_000;

/** The FIFO queue between drain and fan-out: one message group for each advert of a partner account. */
export function createChangedAdvertsQueue(options: ChangedAdvertsQueueOptions): ChangedAdvertsQueue {
  const { queue, accountDepth, clock = systemClock } = options;
  let counting: { readonly waiting: Promise<number>; readonly at: number } | undefined;
  let sentSince = 0;

  /** Messages in the whole queue. Feeds that are read side by side share one request. */
  async function total(): Promise<number> {
    if (!counting || clock.now() - counting.at >= countedForMs) {
      const mine = { waiting: countMessages(queue), at: clock.now() };
      counting = mine;
      sentSince = 0;
      mine.waiting.catch(() => {
        if (counting === mine) counting = undefined;
      });
    }
    return (await counting.waiting) + sentSince;
  }

  return {
    async send(messages) {
      const refused = await sendBatches(
        queue,
        messages.map((message) => ({
          key: message.key,
          body: JSON.stringify(message),
          groupId: messageGroupOf(message),
          deduplicationId: message.key,
        })),
        options,
      );
      sentSince += messages.length - refused.size;
      return refused;
    },

    // SQS knows nothing of partner accounts and feeds, so a feed's share is taken from its books, and only when it matters.
    async depth(partnerAccount, feed = 'adverts') {
      const waiting = await total();
      if (!accountDepth || waiting < accountDepth.from) return waiting;
      return Math.min(waiting, await accountDepth.inFlightOf(partnerAccount, feed));
    },
  };
}
