import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createChangedAdvertsQueue } from '../../shared/aws/changed-adverts-queue.ts';
import { createParkedMessages } from '../../shared/aws/parked-messages.ts';
import { BatchSettler } from '../../shared/aws/settler.ts';
import type { Queue } from '../../shared/aws/sqs/send-batches.ts';
import { createWaitingMessages } from '../../shared/aws/waiting-messages.ts';
import { startDynamo, startSqs } from '../helpers/aws/emulators.ts';
import { aMessage, anObserver } from '../helpers/aws/fixtures.ts';
import { sqsInbox } from '../helpers/aws/sqs-inbox.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { parkedMessagesSuite } from './parked-messages.suite.ts';
import { waitingMessagesSuite } from './waiting-messages.suite.ts';

let sqs: Awaited<ReturnType<typeof startSqs>>;
let dynamo: Awaited<ReturnType<typeof startDynamo>>;

beforeAll(async () => {
  [sqs, dynamo] = await Promise.all([startSqs(), startDynamo()]);
});
afterAll(() => Promise.all([sqs.stop(), dynamo.stop()]));

async function make() {
  const clock = createManualClock();
  const table = await dynamo.feedStateTable();
  const queue = sqs.createQueue();
  const deadLetterQueue = sqs.createQueue();
  const { observer } = anObserver();
  const parked = createParkedMessages({ table, queue, deadLetterQueue, observer, clock });
  const settler = new BatchSettler({
    queue,
    deadLetterQueue,
    books: { add: async () => {} },
    parking: parked,
    observer,
  });
  const changedAdverts = createChangedAdvertsQueue({ queue });
  return {
    queue: { ...changedAdverts, ...sqsInbox(queue, settler) },
    parked,
    waitingMessages: createWaitingMessages(table),
    advance: clock.advance,
    now: clock.now,
  };
}

parkedMessagesSuite('DynamoDB and SQS (dynalite, fauxqs)', make);
waitingMessagesSuite('DynamoDB (dynalite)', { seesQueue: false }, make);

it('a parked row that cannot be read becomes a dead letter, and the others are released', async () => {
  const table = await dynamo.feedStateTable();
  const queue = sqs.createQueue();
  const deadLetterQueue = sqs.createQueue();
  const { observer, lines } = anObserver();
  const parked = createParkedMessages({ table, queue, deadLetterQueue, observer });
  await parked.park([
    { place: '1:k', message: aMessage('1') },
    { place: '9:k', message: aMessage('9') },
  ]);
  const spoil = async (place: string, body: string) => {
    const Item = { pk: { S: 'parked/main' }, sk: { S: place }, body: { S: body } };
    await table.client.send(new PutItemCommand({ TableName: table.name, Item }));
  };
  await spoil('0:k', JSON.stringify({ ...aMessage('5'), generation: 'soon' }));
  await spoil('5:k', '{');

  const options = { most: 1_000, deadlineMs: Date.now() + 60_000 };
  expect(await parked.release('main', options)).toBe(2);

  expect((await receivedBodies(queue)).map(({ advertId }) => advertId)).toEqual(['1', '9']);
  const letters = await receivedBodies(deadLetterQueue);
  expect(letters).toHaveLength(2);
  expect(letters.find(({ advertId }) => advertId === '5')).toMatchObject({
    partnerAccount: 'main',
    fault: 'malformed-message',
    reason: expect.stringContaining('generation: expected number'),
    message: null,
  });
  expect(lines.map(({ level }) => level)).toEqual(['warn', 'warn']);
  expect(lines[0]).toMatchObject({
    message: expect.stringContaining('dead letter'),
    fields: { place: '0:k' },
  });
  expect(await parked.release('main', options)).toBe(0);
});

async function receivedBodies({ client, url: QueueUrl }: Queue) {
  const { Messages = [] } = await client.send(
    new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10 }),
  );
  return Messages.map(({ Body = '' }) => JSON.parse(Body)).sort((a, b) => (a.advertId < b.advertId ? -1 : 1));
}
