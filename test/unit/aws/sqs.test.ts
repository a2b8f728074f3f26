import { GetQueueAttributesCommand, SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createBookKeeper, createChangedAdvertsQueue, deliveryOf } from '../../../shared/aws/sqs.ts';
import { positionOf } from '../../../shared/domain/queue/message-groups.ts';
import { createInMemoryStore } from '../../fakes/store.ts';
import { aClock, aMessage } from '../../helpers/aws/fixtures.ts';
import { mockClient } from '../../helpers/aws/mock-client.ts';

const sqs = mockClient(SQSClient);
const queue = { client: new SQSClient({}), url: 'https://queue' };
const page = (count: number) => Array.from({ length: count }, (_, index) => aMessage(String(index)));
const acceptAll = (behaviour = sqs.on(SendMessageBatchCommand)) =>
  behaviour.callsFake(async ({ Entries }) => ({
    Successful: Entries.map(({ Id }: { Id: string }) => ({ Id })),
  }));
const sends = () => sqs.commandCalls(SendMessageBatchCommand).map(({ args }) => args[0].input.Entries ?? []);

function make(inFlight = 0) {
  const clock = aClock();
  const inFlightOf = vi.fn(async () => inFlight);
  const adverts = createChangedAdvertsQueue({
    queue,
    accountDepth: { from: 100, inFlightOf },
    clock,
    random: () => 0.5,
  });
  return { adverts, clock, inFlightOf };
}

beforeEach(() => sqs.reset());

describe('sending changed adverts', () => {
  it('takes a hundred calls for a page of a thousand', async () => {
    acceptAll();
    expect(await make().adverts.send(page(1000))).toEqual(new Set());
    expect(sends().map((entries) => entries.length)).toEqual(Array(100).fill(10));
  });

  it('groups by partner account and advert, and deduplicates by key', async () => {
    acceptAll();
    await make().adverts.send([aMessage('42')]);
    expect(sends()[0]?.[0]).toMatchObject({
      MessageGroupId: 'main/42',
      MessageDeduplicationId: aMessage('42').key,
      MessageBody: JSON.stringify(aMessage('42')),
    });
  });

  it('says what stayed refused, after a bounded number of tries', async () => {
    sqs
      .on(SendMessageBatchCommand)
      .resolves({ Failed: [{ Id: '0', Code: 'InternalError', SenderFault: false }] });
    const { adverts, clock } = make();
    expect(await adverts.send(page(1))).toEqual(new Set([aMessage('0').key]));
    expect(sends()).toHaveLength(5);
    expect(clock.slept).toEqual([25, 50, 100, 200]);
  });

  it('takes an entry that the answer does not mention for refused', async () => {
    sqs.on(SendMessageBatchCommand).resolves({});
    expect((await make().adverts.send(page(1))).size).toBe(1);
  });

  it('rejects when a call fails as a whole, after all others have ended', async () => {
    acceptAll(sqs.on(SendMessageBatchCommand).rejectsOnce(new Error('no route')));
    await expect(make().adverts.send(page(30))).rejects.toThrow('no route');
    expect(sends()).toHaveLength(3);
  });
});

describe('sending many changed adverts', () => {
  it('has eight calls under way at most', async () => {
    let [underWay, most] = [0, 0];
    sqs.on(SendMessageBatchCommand).callsFake(async ({ Entries }) => {
      underWay += 1;
      most = Math.max(most, underWay);
      await new Promise(setImmediate);
      underWay -= 1;
      return { Successful: Entries.map(({ Id }: { Id: string }) => ({ Id })) };
    });
    await make().adverts.send(page(200));
    expect(most).toBe(8);
  });

  it('tells apart what is tried again and what is not within one answer', async () => {
    sqs
      .on(SendMessageBatchCommand)
      .resolvesOnce({
        Successful: [{ Id: '1', MessageId: 'm', MD5OfMessageBody: '' }],
        Failed: [
          { Id: '0', Code: 'InvalidMessageContents', SenderFault: true },
          { Id: '2', Code: 'InternalError', SenderFault: false },
        ],
      })
      // Of an entry that was not sent.
      .resolves({
        Successful: [0, 7].map((Id) => ({ Id: String(Id), MessageId: 'm', MD5OfMessageBody: '' })),
      });
    expect(await make().adverts.send(page(3))).toEqual(new Set([aMessage('0').key]));
    expect(sends()[1]?.map(({ MessageBody }) => MessageBody)).toEqual([JSON.stringify(aMessage('2'))]);
  });
});

describe('the depth of the queue', () => {
  const holds = (visible: number) =>
    sqs.on(GetQueueAttributesCommand).resolves({
      Attributes: {
        ApproximateNumberOfMessages: String(visible),
        ApproximateNumberOfMessagesNotVisible: '0',
        ApproximateNumberOfMessagesDelayed: '0',
      },
    });

  it.each([
    { visible: 99, own: 5, depth: 99 },
    { visible: 100, own: 5, depth: 5 },
    { visible: 500, own: 9_000, depth: 500 },
  ])('is $depth with $visible messages in the queue and $own in the books', async (each) => {
    holds(each.visible);
    expect(await make(each.own).adverts.depth('main')).toBe(each.depth);
  });

  it('is asked for once in a while, and counts what was sent since', async () => {
    holds(40);
    acceptAll();
    const { adverts, clock } = make();
    await adverts.depth('main');
    await adverts.send(page(7));
    expect(await adverts.depth('other')).toBe(47);
    expect(sqs.commandCalls(GetQueueAttributesCommand)).toHaveLength(1);
    await clock.sleep(5_000);
    expect(await adverts.depth('other')).toBe(40);
  });

  it('adds up what is visible, in flight and delayed', async () => {
    sqs.on(GetQueueAttributesCommand).callsFake(async ({ AttributeNames }) => ({
      Attributes: Object.fromEntries(
        AttributeNames.map((name: string, index: number) => [name, String(10 ** index)]),
      ),
    }));
    expect(await make(9_000).adverts.depth('main')).toBe(111);
    expect(new Set(sqs.commandCalls(GetQueueAttributesCommand)[0]?.args[0].input.AttributeNames)).toEqual(
      new Set([
        'ApproximateNumberOfMessages',
        'ApproximateNumberOfMessagesNotVisible',
        'ApproximateNumberOfMessagesDelayed',
      ]),
    );
    sqs.on(GetQueueAttributesCommand).resolves({});
    expect(await make().adverts.depth('main')).toBe(0);
  });

  it('is asked for once by feeds that are read side by side, for five seconds', async () => {
    holds(40);
    const { adverts, clock } = make();
    expect(await Promise.all([adverts.depth('main'), adverts.depth('other')])).toEqual([40, 40]);
    await clock.sleep(4_999);
    await adverts.depth('main');
    expect(sqs.commandCalls(GetQueueAttributesCommand)).toHaveLength(1);
    await clock.sleep(1);
    await adverts.depth('main');
    expect(sqs.commandCalls(GetQueueAttributesCommand)).toHaveLength(2);
  });

  it('is asked for again after a question that failed', async () => {
    sqs.on(GetQueueAttributesCommand).rejectsOnce(new Error('no route'));
    const { adverts } = make();
    await expect(adverts.depth('main')).rejects.toThrow('no route');
    holds(40);
    expect(await adverts.depth('main')).toBe(40);
  });

  it('grows by what was accepted alone', async () => {
    holds(40);
    sqs.on(SendMessageBatchCommand).resolves({
      Successful: [{ Id: '0', MessageId: 'm', MD5OfMessageBody: '' }],
      Failed: [{ Id: '1', Code: 'InvalidMessageContents', SenderFault: true }],
    });
    const { adverts } = make();
    await adverts.depth('main');
    await adverts.send(page(2));
    expect(await adverts.depth('main')).toBe(41);
  });
});

it('counts the messages aside with those in the queue as waiting', async () => {
  sqs.on(GetQueueAttributesCommand).resolves({ Attributes: { ApproximateNumberOfMessages: '4' } });
  const bookKeeper = createBookKeeper({
    ...{ store: createInMemoryStore(), queue, deadLetters: { count: async () => 2 } },
    aside: { figures: async () => ({ waiting: 3, oldestListedAt: 'then' }) },
  });
  expect(await bookKeeper.queue()).toEqual({ waiting: 7, deadLetters: 2, oldestListedAt: 'then' });
});

const record = {
  messageId: 'id-1',
  receiptHandle: 'receipt-1',
  body: JSON.stringify(aMessage()),
  attributes: {
    ApproximateReceiveCount: '2',
    SentTimestamp: '1763640000123',
    SequenceNumber: '18893421234567890123',
  },
};

describe('a record of the queue', () => {
  it('becomes a delivery with a position', () => {
    expect(deliveryOf(record)).toEqual({
      id: 'id-1',
      message: aMessage(),
      position: positionOf('18893421234567890123', 2),
      receives: 2,
      sentAt: 1_763_640_000_123,
    });
  });

  it('gets a position that rises with each delivery where the number is missing', () => {
    const without = (ApproximateReceiveCount: string, SentTimestamp = '1763640000123') =>
      deliveryOf({ ...record, attributes: { ApproximateReceiveCount, SentTimestamp } }).position;
    expect(without('1') < without('2')).toBe(true);
    expect(without('2') < without('1', '1763640000124')).toBe(true);
  });

  it.each([
    ['not JSON', 'hidden-one'],
    ['of another shape', JSON.stringify({ ...aMessage(), advertId: 'hidden-one' })],
  ])('has a flaw that repeats none of it when the body is %s', (_, body) => {
    const { message, flaw } = deliveryOf({ ...record, body });
    expect(message).toBeUndefined();
    expect(flaw).toContain('message');
    expect(flaw).not.toContain('hidden-one');
  });
});
