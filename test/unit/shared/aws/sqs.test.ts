import { GetQueueAttributesCommand, SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs';
import { beforeEach, expect, it, vi } from 'vitest';
import { createQueueShares } from '../../../../shared/aws/queue-shares.ts';
import { createBookKeeper, createChangedAdvertsQueue, deliveryOf } from '../../../../shared/aws/sqs.ts';
import { createInMemoryStore } from '../../../fakes/store.ts';
import { aMessage } from '../../../helpers/aws/fixtures.ts';
import { mockClient } from '../../../helpers/aws/mock-client.ts';
import { createManualClock } from '../../../helpers/manual-clock.ts';

const sqs = mockClient(SQSClient);
const queue = { client: new SQSClient({}), url: 'https://queue' };
const page = (count: number) => Array.from({ length: count }, (_, index) => aMessage(String(index)));
const acceptAll = (behaviour = sqs.on(SendMessageBatchCommand)) =>
  behaviour.callsFake(async ({ Entries }) => ({
    Successful: Entries.map(({ Id }: { Id: string }) => ({ Id })),
  }));
const accepted = (...ids: readonly number[]) =>
  ids.map((id) => ({ Id: String(id), MessageId: 'm', MD5OfMessageBody: '' }));
const failed = (id: number, SenderFault: boolean) => ({ Id: String(id), Code: 'Fault', SenderFault });
const sends = () => sqs.commandCalls(SendMessageBatchCommand).map(({ args }) => args[0].input.Entries ?? []);
const counts = () => sqs.commandCalls(GetQueueAttributesCommand).length;
const contains = (visible: number) =>
  sqs
    .on(GetQueueAttributesCommand)
    .resolves({ Attributes: { ApproximateNumberOfMessages: String(visible) } });

function make() {
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
  const clock = createManualClock();
  const shares = createQueueShares({ maxRequestsPerSecond: 10, wholeFrom: 15_000, clock });
  return { clock, ...createChangedAdvertsQueue({ queue, shares, clock }) };
}

beforeEach(() => sqs.reset());

it('sending returns what stayed refused, or unmentioned, after five tries', async () => {
  sqs.on(SendMessageBatchCommand).resolves({ Failed: [failed(0, false)] });
  const { send, clock } = make();
  expect(await send(page(2))).toEqual(new Set(page(2).map(({ key }) => key)));
  expect(sends()).toHaveLength(5);
  expect(clock.slept).toEqual([25, 50, 100, 200]);
});

it('only entries that failed without the sender’s fault are sent again', async () => {
  sqs
    .on(SendMessageBatchCommand)
    .resolvesOnce({ Successful: accepted(1), Failed: [failed(0, true), failed(2, false)] })
    // 7: of an entry that was not sent.
    .resolves({ Successful: accepted(0, 7) });
  expect(await make().send(page(3))).toEqual(new Set([aMessage('0').key]));
  expect(sends()[1]?.map(({ MessageBody }) => MessageBody)).toEqual([JSON.stringify(aMessage('2'))]);
});

it('sending rejects when a call fails as a whole, after all have ended', async () => {
  acceptAll(sqs.on(SendMessageBatchCommand).rejectsOnce(new Error('no route')));
  await expect(make().send(page(30))).rejects.toThrow('no route');
  expect(sends()).toHaveLength(3);
});

it('the depth of the queue sums visible, in-flight and delayed messages', async () => {
  sqs.on(GetQueueAttributesCommand).callsFake(async ({ AttributeNames }) => ({
    Attributes: Object.fromEntries(
      AttributeNames.map((name: string, index: number) => [name, String(10 ** index)]),
    ),
  }));
  expect(await make().depth('main')).toBe(111);
  expect(sqs.commandCalls(GetQueueAttributesCommand)[0]?.args[0].input.AttributeNames).toEqual(
    ['', 'NotVisible', 'Delayed'].map((end) => `ApproximateNumberOfMessages${end}`),
  );
});

it('the depth is counted once in five seconds and grows by what is sent', async () => {
  contains(40);
  sqs.on(SendMessageBatchCommand).resolves({ Successful: accepted(0, 1), Failed: [failed(2, true)] });
  const { depth, send, clock } = make();
  expect(await Promise.all([depth('main'), depth('other')])).toEqual([40, 40]);
  await send(page(3));
  await clock.sleep(4_999);
  expect([await depth('main'), counts()]).toEqual([42, 1]);
  await clock.sleep(1);
  expect([await depth('main'), counts()]).toEqual([42, 2]);
  await clock.sleep(5_000);
  expect([await depth('main'), counts()]).toEqual([40, 3]);
});

it('the depth without a share is what waits in the whole queue', async () => {
  contains(40);
  expect(await createChangedAdvertsQueue({ queue }).depth('main')).toBe(40);
});

it('the depth is counted again after a count that failed', async () => {
  sqs.on(GetQueueAttributesCommand).rejectsOnce(new Error('no route'));
  const { depth } = make();
  await expect(depth('main')).rejects.toThrow('no route');
  contains(40);
  expect(await depth('main')).toBe(40);
});

it('messages aside count as waiting with those in the queue', async () => {
  contains(4);
  const bookKeeper = createBookKeeper({
    ...{ store: createInMemoryStore(), queue, deadLetters: { count: async () => 2 } },
    aside: { figures: async () => ({ waiting: 3, oldestListedAt: 'then' }) },
  });
  expect(await bookKeeper.queue()).toEqual({ waiting: 7, deadLetters: 2, oldestListedAt: 'then' });
});

const record = {
  ...{ messageId: 'id-1', receiptHandle: 'receipt-1', body: JSON.stringify(aMessage()) },
  attributes: {
    ApproximateReceiveCount: '2',
    SentTimestamp: '1763640000123',
    SequenceNumber: '18893421234567890123',
  },
};

it.each([
  ['orders', true],
  ['', undefined],
  ['not a name', undefined],
])('a record waits for a newer bridge when its feed is unknown: %j', (feed, isNewer) => {
  const read = deliveryOf({ ...record, body: JSON.stringify({ ...aMessage('7'), feed }) });
  expect(read).toMatchObject({ about: { partnerAccount: 'main', advertId: '7' } });
  expect('isNewer' in read ? read.isNewer : undefined).toBe(isNewer);
});

it('a record without a number gets a position that rises', () => {
  const without = (ApproximateReceiveCount: string, SentTimestamp = '1763640000123') =>
    deliveryOf({ ...record, attributes: { ApproximateReceiveCount, SentTimestamp } }).position;
  expect(without('1') < without('2')).toBe(true);
  expect(without('2') < without('1', '1763640000124')).toBe(true);
});
