import { ChangeMessageVisibilityBatchCommand, SQSClient } from '@aws-sdk/client-sqs';
import { beforeEach, expect, it, vi } from 'vitest';
import { createBatchSettler } from '../../../../shared/aws/settler.ts';
import { deliveryOf } from '../../../../shared/aws/sqs.ts';
import type { Verdict } from '../../../../shared/ports/queue.ts';
import type { Store } from '../../../../shared/ports/store.ts';
import { createAside } from '../../../../shared/state/aside.ts';
import { createInMemoryStore } from '../../../fakes/store.ts';
import { aMessage } from '../../../helpers/aws/fixtures.ts';
import { mockClient } from '../../../helpers/aws/mock-client.ts';
import { createManualClock } from '../../../helpers/manual-clock.ts';
import { createRecordingObserver } from '../../../helpers/recording-observer.ts';
import { deadLetter } from '../../../helpers/records.ts';

const sqs = mockClient(SQSClient);
const queue = { client: new SQSClient({}), url: 'https://queue' };
const { generation } = aMessage();
const name = `main/${generation}/sums`;
const done: Verdict = { kind: 'done', outcome: 'events' };
const hold: Verdict = { kind: 'hold' };
const retry = (delayMs: number): Verdict => ({ kind: 'retry', delayMs });
const givenUp = (id: string): Verdict => ({
  kind: 'dead-letter',
  deadLetter: deadLetter({ advertId: id, message: aMessage(id) }),
});

function make() {
  const add = vi.fn<Store['add']>(async () => {});
  const counted = () => add.mock.calls.map(([{ name }, counts]) => [name, counts]);
  const observer = createRecordingObserver();
  const { lines } = observer;
  const store = createInMemoryStore();
  const put = vi.spyOn(store, 'put');
  const aside = createAside(store);
  const settle = createBatchSettler({
    queue,
    books: { add },
    observer,
    clock: createManualClock(100_000),
    aside,
  });
  return { settle, add, counted, lines, store, put };
}

interface Sent {
  readonly verdict?: Verdict | undefined;
  readonly body?: string;
  readonly messageId?: string;
}

/** Received 10 seconds ago. */
function batchOf(sent: readonly Sent[], receives = 1) {
  const records = sent.map(({ body, messageId }, index) => ({
    messageId: messageId ?? `id-${index}`,
    receiptHandle: `receipt-${index}`,
    body: body ?? JSON.stringify(aMessage(String(index))),
    attributes: { ApproximateReceiveCount: String(receives), SequenceNumber: `${index}`, SentTimestamp: '5' },
  }));
  const settlements = records.flatMap((record, index) => {
    const verdict = sent[index]?.verdict;
    return verdict ? [{ delivery: deliveryOf(record), verdict }] : [];
  });
  return { records, settlements, receivedAt: 90_000 };
}
const aBatch = (verdicts: readonly (Verdict | undefined)[], receives?: number) =>
  batchOf(
    verdicts.map((verdict) => ({ verdict })),
    receives,
  );

const failing = (...ids: string[]) => ({
  batchItemFailures: ids.map((itemIdentifier) => ({ itemIdentifier })),
});
const delays = () =>
  sqs
    .commandCalls(ChangeMessageVisibilityBatchCommand)
    .map(({ args }) =>
      args[0].input.Entries?.map(({ ReceiptHandle, VisibilityTimeout }) => [
        ReceiptHandle,
        VisibilityTimeout,
      ]),
    );

beforeEach(() => {
  sqs.reset();
  sqs.on(ChangeMessageVisibilityBatchCommand).resolves({});
});

it('a settled batch reports what goes back and what nobody settled', async () => {
  const verdicts = [done, retry(0), undefined, { kind: 'forgotten' } as const];
  expect(await make().settle(aBatch(verdicts))).toEqual(failing('id-1', 'id-2'));
});

it('an empty identifier is an error, since it would delete the batch', async () => {
  await expect(make().settle(batchOf([{ messageId: '' }]))).rejects.toThrow('without a message ID');
});

it('what goes back is delayed, within the rest of twelve hours', async () => {
  await make().settle(aBatch([retry(0), retry(1_500), done, retry(99_999_999)]));
  expect(delays()[0]).toEqual([
    ['receipt-0', 0],
    ['receipt-1', 2],
    ['receipt-3', 43_200 - 60 - 10],
  ]);
  await make().settle({ ...aBatch([retry(5_000)]), receivedAt: 100_000 - 43_200_000 });
  expect(delays().at(-1)).toEqual([['receipt-0', 0]]);
});

it('a delay that could not be set is reported, and settling goes on', async () => {
  const error = new Error('no route');
  sqs.on(ChangeMessageVisibilityBatchCommand).rejects(error);
  const { settle, lines } = make();
  expect(await settle(aBatch([retry(9), done]))).toEqual(failing('id-0'));
  expect(lines).toMatchObject([{ level: 'warn', fields: { error } }]);
});

it.each([
  ['once more', [], 0],
  ['once more, and logs what stays failed', [{ Id: '2', Code: 'Throttled', SenderFault: false }], 1],
])('a delay that failed alone is set %s', async (_title, Failed, warnings) => {
  const first = { Failed: [{ Id: '2', Code: 'Throttled', SenderFault: false }], Successful: [] };
  sqs.on(ChangeMessageVisibilityBatchCommand).resolvesOnce(first).resolves({ Failed, Successful: [] });
  const { settle, lines } = make();
  expect(await settle(aBatch([retry(1_000), done, retry(3_000)]))).toEqual(failing('id-0', 'id-2'));
  expect(delays()).toEqual([
    [
      ['receipt-0', 1],
      ['receipt-2', 3],
    ],
    [['receipt-2', 3]],
  ]);
  expect(lines.map(({ level, fields }) => [level, fields.count])).toEqual(Array(warnings).fill(['warn', 1]));
});

it('outcomes count once for each generation, redelivered ones apart', async () => {
  const { settle, counted } = make();
  await settle(aBatch([done, done, givenUp('2'), { kind: 'forgotten' }], 2));
  const bodies = [{}, { generation: 8 }, { partnerAccount: 'other' }].map((fields, index) =>
    JSON.stringify(aMessage(String(index), fields)),
  );
  await settle(batchOf(bodies.map((body) => ({ body, verdict: done }))));
  expect(counted()).toEqual([
    [name, { events: 2, deadLettered: 1, redelivered: 3 }],
    [name, { events: 1, redelivered: 0 }],
    ['main/8/sums', { events: 1, redelivered: 0 }],
    [`other/${generation}/sums`, { events: 1, redelivered: 0 }],
  ]);
});

it('a batch fails as a whole when outcomes cannot be counted', async () => {
  const { settle, add } = make();
  add.mockRejectedValue(new Error('throttled'));
  await expect(settle(aBatch([done]))).rejects.toThrow('throttled');
});

it('a message is taken back when its dead letter could not be stored', async () => {
  const { settle, counted, put, lines, store } = make();
  put.mockRejectedValueOnce(new Error('throttled'));
  expect(await settle(aBatch([givenUp('0'), givenUp('1'), done]))).toEqual(failing('id-0'));
  expect(counted()).toEqual([[name, { events: 1, deadLettered: 1, redelivered: 0 }]]);
  expect(lines.map(({ level }) => level)).toEqual(['warn']);
  expect(await store.list('dead')).toHaveLength(1);
});

it('messages are put aside in the order of the queue, uncounted', async () => {
  const { settle, counted, store } = make();
  expect(await settle(aBatch([hold, hold, done]))).toEqual(failing());
  expect(await store.list('aside')).toMatchObject(
    ['0', '1'].map((id) => ({
      name: `main/${id.padStart(20, '0')}:${aMessage(id).key}`,
      value: { message: aMessage(id) },
    })),
  );
  expect(counted()).toEqual([[name, { events: 1, redelivered: 0 }]]);
});

it('what is no message is dead-lettered uncounted, never put aside', async () => {
  const { settle, counted, put } = make();
  const verdict = { kind: 'dead-letter', deadLetter: deadLetter({ message: null }) } as const;
  expect(await settle(batchOf([{ body: 'no message', verdict }]))).toEqual(failing());
  put.mockClear();
  expect(await settle(batchOf([{ body: 'no message', verdict: hold }]))).toEqual(failing('id-0'));
  expect([counted(), put.mock.calls]).toEqual([[], []]);
});
