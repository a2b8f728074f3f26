import { afterAll, beforeAll, beforeEach } from 'vitest';
import { startSqs } from '../helpers/aws/emulators.ts';
import { needsGroupsTogether } from '../helpers/aws/fauxqs-gaps.ts';
import { changedAdvertsQueueSuite } from './changed-adverts-queue.suite.ts';
import { sqsCapabilities, sqsQueue } from './sqs-queue.ts';

let sqs: Awaited<ReturnType<typeof startSqs>>;

beforeAll(async () => {
  sqs = await startSqs();
});
afterAll(() => sqs.stop());

beforeEach(({ task, skip }) => {
  skip(needsGroupsTogether.has(task.name), 'fauxqs hands out one message of a group at a time');
});

changedAdvertsQueueSuite('SQS (fauxqs)', sqsCapabilities, async () => {
  const queue = sqs.createQueue();
  return { queue: sqsQueue(queue, sqs.createQueue(), async () => queue.bodies()) };
});
