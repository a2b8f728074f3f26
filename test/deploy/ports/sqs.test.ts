import { changedAdvertsQueueSuite } from '../../ports/changed-adverts-queue.suite.ts';
import { sqsCapabilities, sqsQueue } from '../../ports/sqs-queue.ts';
import { anAwsAccount } from './account.ts';

changedAdvertsQueueSuite('SQS (MiniStack)', sqsCapabilities, async () => {
  const { endpoint, fifoQueue, cleanUp } = anAwsAccount();
  const queue = await fifoQueue('changed-adverts');
  return { queue: sqsQueue(queue, () => messageBodies(endpoint, queue.url)), cleanUp };
});

/** The messages of the queue, including those in flight; reading them receives nothing. */
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
