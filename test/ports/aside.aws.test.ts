import { afterAll, beforeAll, expect, it } from 'vitest';
import { createBatchSettler } from '../../shared/aws/settler.ts';
import { createChangedAdvertsQueue } from '../../shared/aws/sqs.ts';
import { createStore } from '../../shared/aws/store.ts';
import { createAside } from '../../shared/state/aside.ts';
import { startDynamo, startSqs } from '../helpers/aws/emulators.ts';
import { anObserver } from '../helpers/aws/fixtures.ts';
import { sqsInbox } from '../helpers/aws/sqs-inbox.ts';
import { changedAdvert, heldMessage } from '../helpers/records.ts';
import { asideSuite } from './aside.suite.ts';

let sqs: Awaited<ReturnType<typeof startSqs>>;
let dynamo: Awaited<ReturnType<typeof startDynamo>>;

beforeAll(async () => {
  [sqs, dynamo] = await Promise.all([startSqs(), startDynamo()]);
});
afterAll(() => Promise.all([sqs.stop(), dynamo.stop()]));

const emptyStore = async () => createStore({ feedState: await dynamo.feedStateTable() });

asideSuite('DynamoDB and SQS (dynalite, fauxqs)', async () => {
  const aside = createAside(await emptyStore());
  const queue = sqs.createQueue();
  const { observer } = anObserver();
  const books = { add: async () => {} };
  const settler = createBatchSettler({ queue, books, aside, observer });
  return { queue: { ...createChangedAdvertsQueue({ queue }), ...sqsInbox(queue, settler) }, aside };
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
