import { afterAll, beforeAll, beforeEach } from 'vitest';
import { createChangedAdvertsQueue } from '../../shared/aws/changed-adverts-queue.ts';
import { createDeadLetters } from '../../shared/aws/dead-letters.ts';
import { BatchSettler } from '../../shared/aws/settler.ts';
import { startSqs } from '../helpers/aws/emulators.ts';
import { anObserver } from '../helpers/aws/fixtures.ts';
import { sqsInbox } from '../helpers/aws/sqs-inbox.ts';
import { changedAdvertsQueueSuite } from './changed-adverts-queue.suite.ts';
import { needsGroupsTogether } from './fauxqs-gaps.ts';

let sqs: Awaited<ReturnType<typeof startSqs>>;

beforeAll(async () => {
  sqs = await startSqs();
});
afterAll(() => sqs.stop());

beforeEach(({ task, skip }) => {
  skip(needsGroupsTogether.has(task.name), 'fauxqs hands out one message of a group at a time');
});

// Time is the emulator's own, and counting is another table's business: what needs either is shown elsewhere.
changedAdvertsQueueSuite('SQS (fauxqs)', { controlsTime: false, countsOnAcceptance: false }, async () => {
  const queue = sqs.createQueue();
  const deadLetterQueue = sqs.createQueue();
  const books = { add: async () => {} };
  // Parked messages have a suite of their own (parked-messages.suite.ts).
  const noParking = { park: () => Promise.reject(new Error('nothing is parked here')) };
  let now = 0;
  const changedAdverts = createChangedAdvertsQueue({
    queue,
    maxWaiting: 0,
    inFlightOf: async (name) =>
      queue.bodies().filter((body) => JSON.parse(body).partnerAccount === name).length,
    // So that the figure of the queue is asked for every time.
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
  };
});
