import { afterAll, beforeAll } from 'vitest';
import { createChangedAdvertsQueue } from '../../shared/aws/changed-adverts-queue.ts';
import { createParkedMessages } from '../../shared/aws/parking/parked-messages.ts';
import { createBatchSettler } from '../../shared/aws/settler.ts';
import { startDynamo, startSqs } from '../helpers/aws/emulators.ts';
import { anObserver } from '../helpers/aws/fixtures.ts';
import { sqsInbox } from '../helpers/aws/sqs-inbox.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { parkedMessagesSuite } from './parked-messages.suite.ts';

let sqs: Awaited<ReturnType<typeof startSqs>>;
let dynamo: Awaited<ReturnType<typeof startDynamo>>;

beforeAll(async () => {
  [sqs, dynamo] = await Promise.all([startSqs(), startDynamo()]);
});
afterAll(() => Promise.all([sqs.stop(), dynamo.stop()]));

parkedMessagesSuite('DynamoDB and SQS (dynalite, fauxqs)', async () => {
  const clock = createManualClock();
  const table = await dynamo.feedStateTable();
  const queue = sqs.createQueue();
  const parked = createParkedMessages({ table, queue, clock });
  const settler = createBatchSettler({
    queue,
    deadLetterQueue: sqs.createQueue(),
    books: { add: async () => {} },
    parking: parked,
    observer: anObserver().observer,
  });
  const changedAdverts = createChangedAdvertsQueue({ queue, maxWaiting: 0, inFlightOf: async () => 0 });
  return {
    queue: { ...changedAdverts, ...sqsInbox(queue, settler) },
    parked,
    advance: clock.advance,
    now: clock.now,
  };
});
