import { systemClock } from '../domain/clock.ts';
import { messageGroupOf } from '../domain/queue/message-groups.ts';
import type { ChangedAdvertsQueue } from '../ports/changed-adverts-queue.ts';
import type { Edges } from './batches/batches.ts';
import { countMessages } from './sqs/queue-counts.ts';
import { type Queue, sendBatches } from './sqs/send-batches.ts';

export interface ChangedAdvertsQueueOptions extends Edges {
  readonly queue: Queue;
  /** Returns the queue depth for one partner account; default: the depth of the whole queue. */
  readonly accountDepth?: {
    /** While the whole queue is shorter than this, the share of a single account does not matter. */
    readonly from: number;
    /** Number of the account's messages in flight, according to its books. */
    readonly inFlightOf: (partnerAccount: string) => Promise<number>;
  };
}

/** How long the queue's depth is cached; messages sent in the meantime are added. */
const countedForMs = 5_000;

/** The FIFO queue between drain and fan-out: one message group for each advert of a partner account. */
export function createChangedAdvertsQueue(options: ChangedAdvertsQueueOptions): ChangedAdvertsQueue {
  const { queue, accountDepth, clock = systemClock } = options;
  let counting: { readonly waiting: Promise<number>; readonly at: number } | undefined;
  let sentSince = 0;

  /** Number of messages in the whole queue. Feeds that are read concurrently share one request. */
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

    sendAgain: (messages) =>
      sendBatches(
        queue,
        messages.map(({ etag, message }) => ({
          key: etag,
          body: JSON.stringify(message),
          groupId: messageGroupOf(message),
          // Not the message's key, which the queue may have accepted minutes ago.
          deduplicationId: etag,
        })),
        options,
      ),

    // SQS does not know partner accounts, so an account's share is computed from its books, and only when it matters.
    async depth(partnerAccount) {
      const waiting = await total();
      if (!accountDepth || waiting < accountDepth.from) return waiting;
      return Math.min(waiting, await accountDepth.inFlightOf(partnerAccount));
    },
  };
}
