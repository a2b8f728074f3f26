import { ChangeMessageVisibilityBatchCommand, SQSClient } from '@aws-sdk/client-sqs';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { BatchSettler } from '../../../shared/aws/settler.ts';
import { deliveryOf } from '../../../shared/aws/sqs.ts';
import type { Verdict } from '../../../shared/ports/queue.ts';
import { createAside } from '../../../shared/state/aside.ts';
import { createInMemoryStore } from '../../fakes/store.ts';
import { aClock, aLetter, aMessage, anObserver } from '../../helpers/aws/fixtures.ts';
import { mockClient } from '../../helpers/aws/mock-client.ts';

const sqs = mockClient(SQSClient);
const client = new SQSClient({});
const queue = { client, url: 'https://queue' };
const done: Verdict = { kind: 'done', outcome: 'events' };

function make() {
  const books = { add: vi.fn(async () => {}) };
  const { observer, lines } = anObserver();
  const clock = aClock(100_000);
  const store = createInMemoryStore();
  const put = vi.spyOn(store, 'put');
  return {
    settler: new BatchSettler({ queue, books, observer, clock, aside: createAside(store) }),
    books,
    lines,
    ...{ store, put },
  };
}

function aBatch(verdicts: readonly (Verdict | undefined)[], receives = 1) {
  const records = verdicts.map((_, index) => ({
    messageId: `id-${index}`,
    receiptHandle: `receipt-${index}`,
    body: JSON.stringify(aMessage(String(index))),
    attributes: { ApproximateReceiveCount: String(receives), SequenceNumber: `${index}`, SentTimestamp: '5' },
  }));
  const settlements = records.flatMap((record, index) => {
    const verdict = verdicts[index];
    return verdict ? [{ delivery: deliveryOf(record), verdict }] : [];
  });
  return { records, settlements, receivedAt: 90_000 };
}

const failing = (...ids: string[]) => ({
  batchItemFailures: ids.map((itemIdentifier) => ({ itemIdentifier })),
});

beforeEach(() => {
  sqs.reset();
  sqs.on(ChangeMessageVisibilityBatchCommand).resolves({});
});

describe('settling a batch', () => {
  it('reports what goes back, and what nobody has settled', async () => {
    const { settler } = make();
    const batch = aBatch([done, { kind: 'retry', delayMs: 0 }, undefined, { kind: 'forgotten' }]);
    expect(await settler.settle(batch)).toEqual(failing('id-1', 'id-2'));
  });

  it('delays what goes back in one call, within what is left of twelve hours', async () => {
    const { settler } = make();
    await settler.settle(
      aBatch([0, 1_500, 99_999_999].map((delayMs) => ({ kind: 'retry', delayMs }) as const)),
    );
    const [call] = sqs.commandCalls(ChangeMessageVisibilityBatchCommand);
    expect(
      call?.args[0].input.Entries?.map(({ ReceiptHandle, VisibilityTimeout }) => [
        ReceiptHandle,
        VisibilityTimeout,
      ]),
    ).toEqual([
      ['receipt-0', 0],
      ['receipt-1', 2],
      ['receipt-2', 43_200 - 60 - 10],
    ]);
  });

  it('counts outcomes once for each partner account, redelivered ones apart', async () => {
    const { settler, books } = make();
    await settler.settle(
      aBatch([done, done, { kind: 'dead-letter', letter: aLetter() }, { kind: 'forgotten' }], 2),
    );
    expect(books.add.mock.calls).toEqual([
      ['main', aMessage().generation, { events: 2, deadLettered: 1, redelivered: 3 }],
    ]);
  });

  const deadLetter = (id: string) =>
    ({ kind: 'dead-letter', letter: aLetter({ advertId: id, message: aMessage(id) }) }) as const;

  it('stores a row for each dead letter', async () => {
    const { settler, store } = make();
    expect(await settler.settle(aBatch([deadLetter('0'), deadLetter('1')]))).toEqual(failing());
    expect(await store.list('dead')).toHaveLength(2);
  });

  it('takes a message back, uncounted, whose dead letter could not be stored, and says so', async () => {
    const { settler, books, put, lines } = make();
    put.mockRejectedValueOnce(new Error('throttled'));
    const batch = aBatch([deadLetter('0'), deadLetter('1'), done]);
    expect(await settler.settle(batch)).toEqual(failing('id-0'));
    expect(books.add.mock.calls[0]?.slice(2)).toEqual([{ events: 1, deadLettered: 1 }]);
    expect(lines.map(({ level }) => level)).toEqual(['warn']);
  });

  it('puts messages aside in the order of the queue, and takes them out of it, uncounted', async () => {
    const { settler, books, store } = make();
    const batch = aBatch([{ kind: 'hold' }, { kind: 'hold' }, done]);
    expect(await settler.settle(batch)).toEqual(failing());
    expect(await store.list('aside')).toMatchObject(
      ['0', '1'].map((id) => ({
        name: `main/${id.padStart(20, '0')}:${aMessage(id).key}`,
        value: { message: aMessage(id) },
      })),
    );
    expect(books.add.mock.calls).toEqual([['main', aMessage().generation, { events: 1 }]]);
  });

  it('goes on without a delay that could not be set', async () => {
    sqs.on(ChangeMessageVisibilityBatchCommand).rejects(new Error('no route'));
    const { settler } = make();
    expect(await settler.settle(aBatch([{ kind: 'retry', delayMs: 9 }, done]))).toEqual(failing('id-0'));
  });

  it('fails as a whole when outcomes cannot be counted', async () => {
    const { settler, books } = make();
    books.add.mockRejectedValue(new Error('throttled'));
    await expect(settler.settle(aBatch([done]))).rejects.toThrow('throttled');
  });

  it('never reports an empty identifier', async () => {
    const { settler } = make();
    const batch = aBatch([undefined]);
    const records = batch.records.map((record) => ({ ...record, messageId: '' }));
    await expect(settler.settle({ ...batch, records })).rejects.toThrow('without a message ID');
  });

  it('delays many, ten in a call, and sends none of them back before its turn', async () => {
    const { settler } = make();
    await settler.settle(
      aBatch(Array.from({ length: 12 }, () => ({ kind: 'retry', delayMs: 5_000 }) as const)),
    );
    const entries = sqs.commandCalls(ChangeMessageVisibilityBatchCommand).map(({ args }) => args[0].input);
    expect(entries.map(({ QueueUrl, Entries }) => [QueueUrl, Entries?.map(({ Id }) => Id)])).toEqual([
      ['https://queue', Array.from({ length: 10 }, (_, index) => String(index))],
      ['https://queue', ['0', '1']],
    ]);
  });

  it('does not delay what was received twelve hours ago', async () => {
    const { settler } = make();
    const batch = { ...aBatch([{ kind: 'retry', delayMs: 5_000 }]), receivedAt: 100_000 - 43_200_000 };
    await settler.settle(batch);
    const [call] = sqs.commandCalls(ChangeMessageVisibilityBatchCommand);
    expect(call?.args[0].input.Entries?.[0]?.VisibilityTimeout).toBe(0);
  });

  it('asks nothing of a queue when there is nothing to say to it', async () => {
    const { settler, books, put, lines } = make();
    expect(await settler.settle(aBatch([undefined]))).toEqual(failing('id-0'));
    expect([sqs.calls(), books.add.mock.calls, put.mock.calls, lines]).toEqual([[], [], [], []]);
  });

  it('says that a delay could not be set', async () => {
    sqs.on(ChangeMessageVisibilityBatchCommand).rejects(new Error('no route'));
    const { settler, lines } = make();
    await settler.settle(aBatch([{ kind: 'retry', delayMs: 9 }]));
    expect(lines).toMatchObject([{ level: 'warn', fields: { error: new Error('no route') } }]);
  });

  it('counts each generation of each partner account by itself, and first deliveries as such', async () => {
    const { settler, books } = make();
    const { records, settlements, receivedAt } = aBatch([done, done, done]);
    const changes = [{}, { generation: 8 }, { partnerAccount: 'other' }];
    const changed = settlements.map(({ delivery, verdict }, index) => ({
      verdict,
      delivery: { ...delivery, message: aMessage(String(index), changes[index]) },
    }));
    await settler.settle({ records, settlements: changed, receivedAt });
    expect(books.add.mock.calls).toEqual([
      ['main', aMessage().generation, { events: 1 }],
      ['main', 8, { events: 1 }],
      ['other', aMessage().generation, { events: 1 }],
    ]);
  });

  it('counts nothing for what is no message, and takes its letter', async () => {
    const { settler, books } = make();
    const { records, receivedAt } = aBatch([done]);
    const delivery = deliveryOf({ ...records[0], body: 'no message' } as (typeof records)[0]);
    const verdict = { kind: 'dead-letter', letter: aLetter({ message: null }) } as const;
    expect(await settler.settle({ records, settlements: [{ delivery, verdict }], receivedAt })).toEqual(
      failing(),
    );
    expect(books.add).not.toHaveBeenCalled();
  });

  it('puts nothing aside that is no message: it comes back', async () => {
    const { settler, put } = make();
    const { records, receivedAt } = aBatch([done]);
    const delivery = deliveryOf({ ...records[0], body: 'no message' } as (typeof records)[0]);
    const settlements = [{ delivery, verdict: { kind: 'hold' } as const }];
    expect(await settler.settle({ records, settlements, receivedAt })).toEqual(failing('id-0'));
    expect(put).not.toHaveBeenCalled();
  });
});
