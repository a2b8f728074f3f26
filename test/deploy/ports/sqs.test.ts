import { createChangedAdvertsQueue } from '../../../shared/aws/changed-adverts-queue.ts';
import { createDeadLetters } from '../../../shared/aws/dead-letters.ts';
import { BatchSettler } from '../../../shared/aws/settler.ts';
import { anObserver } from '../../helpers/aws/fixtures.ts';
import { sqsInbox } from '../../helpers/aws/sqs-inbox.ts';
import { changedAdvertsQueueSuite } from '../../ports/changed-adverts-queue.suite.ts';
import { anAwsAccount } from './account.ts';

const capabilities = { controlsTime: false, countsOnAcceptance: false };

changedAdvertsQueueSuite('SQS (MiniStack)', capabilities, async () => {
  const { endpoint, fifoQueue, cleanUp } = anAwsAccount();
  const queue = await fifoQueue('changed-adverts');
  const deadLetterQueue = await fifoQueue('dead-letters');
  // Counting is another table's business.
  const books = { add: async () => {} };
  // Parked messages have a suite of their own (parked-messages.suite.ts).
  const noParking = { park: () => Promise.reject(new Error('nothing is parked here')) };
  let now = 0;
  const changedAdverts = createChangedAdvertsQueue({
    queue,
    maxWaiting: 0,
    inFlightOf: async (partnerAccount) => {
      const bodies = await messageBodies(endpoint, queue.url);
      return bodies.filter((body) => JSON.parse(body).partnerAccount === partnerAccount).length;
    },
    // A minute a look: the queue's figure is asked for every time.
    clock: {
      now: () => {
        now += 60_000;
        return now;
      },
      sleep: async () => {},
    },
  });
  const settler = new BatchSettler({
    queue,
    deadLetterQueue,
    books,
    observer: anObserver().observer,
    parking: noParking,
  });
  return {
    queue: {
      ...createDeadLetters({ queue: deadLetterQueue }),
      ...changedAdverts,
      ...sqsInbox(queue, settler),
    },
    cleanUp,
  };
});

/** What the queue holds, in flight included; looking receives nothing. */
async function messageBodies(endpoint: string, queueUrl: string): Promise<string[]> {
  const account = queueUrl.split('/').at(-2) ?? '';
  const query = new URLSearchParams({ QueueUrl: queueUrl, account });
  const answer = await fetch(`${endpoint}/_ministack/sqs/messages?${query}`);
  const { messages } = (await answer.json()) as { messages: Record<string, Record<string, ByQueue>> };
  return Object.values(messages[account] ?? {})
    .flatMap((byQueue) => Object.values(byQueue).flat())
    .map(({ Body }) => Body);
}

type ByQueue = Record<string, { Body: string }[]>;
