import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import type { Store } from '../../ports/store.ts';
import type { Aside, DeadLetters } from '../../state/aside.ts';
import { type BookKeeper, readBooks } from '../../state/books.ts';
import type { Queue } from './send-batches.ts';

/**
 * Number of messages in the queue, including in-flight and delayed ones. SQS's figures are approximate.
 *
 * @see https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_GetQueueAttributes.html
 */
export async function countMessages({ client, url }: Queue): Promise<number> {
  const { Attributes } = await client.send(
    new GetQueueAttributesCommand({
      QueueUrl: url,
      AttributeNames: [
        'ApproximateNumberOfMessages',
        'ApproximateNumberOfMessagesNotVisible',
        'ApproximateNumberOfMessagesDelayed',
      ],
    }),
  );
  return Object.values(Attributes ?? {}).reduce((sum, figure) => sum + Number(figure), 0);
}

/** Reads the books, and counts the messages in the queue and aside. */
export function createBookKeeper(options: {
  readonly store: Store;
  readonly aside: Pick<Aside, 'figures'>;
  readonly queue: Queue;
  readonly deadLetters: Pick<DeadLetters, 'count'>;
}): BookKeeper {
  const { store, aside, deadLetters, queue } = options;
  return {
    read: (partnerAccount, generation) => readBooks(store, partnerAccount, generation),
    async queue() {
      const [inQueue, held, dead] = await Promise.all([
        countMessages(queue),
        aside.figures(),
        deadLetters.count(),
      ]);
      return { ...held, waiting: inQueue + held.waiting, deadLetters: dead };
    },
  };
}
