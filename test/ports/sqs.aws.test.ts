import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { createStore } from '../../shared/aws/store.ts';
import { createAside } from '../../shared/state/aside.ts';
import { startDynamo, startSqs } from '../helpers/aws/emulators.ts';
import { changedAdvert, heldMessage } from '../helpers/records.ts';
import { asideSuite } from './aside.suite.ts';
import { changedAdvertsQueueSuite } from './changed-adverts-queue.suite.ts';
import { sqsCapabilities, sqsQueue } from './sqs-queue.ts';

/**
 * Tests of the queue's suite that fauxqs cannot pass: SQS hands out several messages of a group at once, and the event source
 * mapping does; fauxqs only the first.
 */
const needsGroupsTogether = new Set([
  'messages of one advert come together, oldest first, positions rising',
  'no more messages of an advert come than asked for',
  'at most so many adverts are taken, the longest waiting first',
  'the count of an account includes messages in flight',
  'a retry without delay is delivered at once, at a greater position',
]);

let sqs: Awaited<ReturnType<typeof startSqs>>;
let dynamo: Awaited<ReturnType<typeof startDynamo>>;

beforeAll(async () => {
  [sqs, dynamo] = await Promise.all([startSqs(), startDynamo()]);
});
afterAll(() => Promise.all([sqs.stop(), dynamo.stop()]));

beforeEach(({ task, skip }) => {
  skip(needsGroupsTogether.has(task.name), 'fauxqs hands out one message of a group at a time');
});

changedAdvertsQueueSuite('SQS (fauxqs)', sqsCapabilities, async () => {
  const queue = sqs.createQueue();
  return { queue: sqsQueue(queue) };
});

const emptyStore = async () => createStore({ feedState: await dynamo.feedStateTable() });

asideSuite('DynamoDB and SQS (dynalite, fauxqs)', async () => {
  const aside = createAside(await emptyStore());
  return { queue: sqsQueue(sqs.createQueue(), aside), aside };
});

it('an unreadable message aside stays, is named, and keeps no others', async () => {
  const store = await emptyStore();
  const unreadable: string[] = [];
  const aside = createAside(store);
  await store.put({ kind: 'aside', name: 'main/1:k' }, { message: { key: 'k' } }, 'absent');
  const message = changedAdvert();
  await aside.store([heldMessage(message, 2)]);

  const listed = await aside.list('main', undefined, (error) => unreadable.push(error.message));
  expect(listed.map((one) => one.message)).toEqual([message]);
  expect(unreadable).toEqual([expect.stringContaining('message aside main/1:k: ')]);
});
