import { describe, expect, it } from 'vitest';
import type { ChangedAdvertsQueue, Delivery, Inbox, Verdict } from '../../shared/ports/queue.ts';
import { changedAdvert, deadLetter, deadLetterOf, settlement } from '../helpers/records.ts';
import { type Capabilities, type Cleaned, subjects } from './harness.ts';

export interface QueueSubject extends Cleaned {
  readonly queue: ChangedAdvertsQueue & Inbox;
  /** Where the world's time can be controlled. */
  readonly advance?: (ms: number) => void;
  readonly now?: () => number;
}

const many = { maxGroups: 10, maxPerGroup: 10, visibilityMs: 30_000 };
const done = { kind: 'done', outcome: 'events' } as const;
const retry = (delayMs: number) => ({ kind: 'retry', delayMs }) as const;
const messagesOf = (deliveries: readonly Delivery[]) => deliveries.map(({ message }) => message);

/** Conformance tests for every queue between drain and fan-out. */
export function changedAdvertsQueueSuite(
  name: string,
  { controlsTime, deduplicates }: Capabilities,
  make: () => Promise<QueueSubject>,
): void {
  const subject = subjects(make);
  /** A queue to which one message of each of these adverts was sent. */
  async function sent(...advertIds: readonly string[]) {
    const { queue, advance = () => {}, now = () => 0 } = await subject();
    const messages = advertIds.map((advertId) => changedAdvert({ advertId }));
    await queue.send(messages);
    return {
      ...{ queue, messages, advance, now },
      receive: (options = {}) => queue.receive({ ...many, ...options }),
      settle: (verdict: Verdict, ...deliveries: readonly (Delivery | undefined)[]) =>
        queue.settle(deliveries.map((delivery) => settlement(delivery, verdict))),
    };
  }

  describe(`${name}: queue of changed adverts`, () => {
    it('the queue has nothing at first', async () => {
      const { queue, receive, settle } = await sent();
      expect(await receive()).toEqual([]);
      await expect.poll(() => queue.depth('main')).toBe(0);
      await settle(done);
    });

    it('delivers what was sent, byte for byte', async () => {
      const { queue, receive } = await sent();
      const message = changedAdvert({ correlationId: 'read ✓', cause: 'resync' });
      expect(await queue.send([message])).toEqual(new Set());
      const [delivery] = await receive();
      expect(delivery).toMatchObject({ message, receives: 1 });
      expect(delivery?.flaw).toBeUndefined();
    });

    it('accepts a whole page at once', async () => {
      const { queue } = await sent(...Array.from({ length: 1000 }, (_, index) => String(index)));
      expect(await queue.depth('main')).toBe(1000);
    });

    it('messages of one advert come together, oldest first, positions rising', async () => {
      const { receive, messages } = await sent('1', '1', '1');
      const deliveries = await receive();
      expect(messagesOf(deliveries)).toEqual(messages);
      expectRising(deliveries);
    });

    it('no more messages of an advert come than asked for', async () => {
      const { receive, messages } = await sent('1', '1', '1');
      expect(messagesOf(await receive({ maxPerGroup: 2 }))).toEqual(messages.slice(0, 2));
      expect(await receive()).toEqual([]);
    });

    it('nothing of an advert comes while a message of it is in flight', async () => {
      const { queue, receive, settle } = await sent('1');
      const [second, other] = [changedAdvert({ advertId: '1' }), changedAdvert({ advertId: '9' })];
      const held = await receive();
      await queue.send([second, other]);
      expect(messagesOf(await receive())).toEqual([other]);

      await settle(done, ...held);

      const next = await receive();
      expect(messagesOf(next)).toEqual([second]);
      expectRising([...held, ...next]);
    });

    it('the same advert of two partner accounts is kept apart', async () => {
      const { queue, receive } = await sent('1');
      await receive();
      const other = changedAdvert({ advertId: '1', partnerAccount: 'other' });
      await queue.send([other]);
      expect(messagesOf(await receive())).toEqual([other]);
    });

    it('at most so many adverts are taken, the longest waiting first', async () => {
      const { receive, messages } = await sent('1', '2', '3', '1');
      expect(new Set(messagesOf(await receive({ maxGroups: 2 })))).toEqual(
        new Set([messages[0], messages[1], messages[3]]),
      );
      expect(messagesOf(await receive())).toEqual([messages[2]]);
    });

    it.runIf(deduplicates)('a key that was just accepted is accepted again and delivered once', async () => {
      const { queue, receive, settle, messages } = await sent('1');
      expect(await queue.send(messages)).toEqual(new Set());
      await settle(done, ...(await receive()));
      expect(await queue.send(messages)).toEqual(new Set());
      expect(await receive()).toEqual([]);
      await expect.poll(() => queue.depth('main')).toBe(0);
    });

    it('the count of an account includes messages in flight', async () => {
      const { queue, receive, settle } = await sent('1', '1');
      await queue.send([changedAdvert({ partnerAccount: 'other' })]);
      const deliveries = await receive({ maxGroups: 1 });
      expect(await queue.depth('main')).toBe(2);
      await settle(done, ...deliveries, ...(await receive()));
      // On SQS, what was just sent counts until it may have left at the bridge's rate.
      await expect.poll(() => queue.depth('main')).toBe(0);
      expect(await queue.depth('nobody')).toBe(0);
    });

    it('a retry without delay is delivered at once, at a greater position', async () => {
      const { queue, receive, settle, messages } = await sent('1');
      const [before] = await receive();
      const second = changedAdvert({ advertId: '1' });
      await queue.send([second]);
      await settle(retry(0), before);
      const after = await receive();
      expect(messagesOf(after)).toEqual([...messages, second]);
      expect(after.map(({ receives }) => receives)).toEqual([2, 1]);
      expectRising([before as Delivery, ...after]);
      expect(after[0]?.sentAt).toBe(before?.sentAt);
    });

    it('a superseded delivery cannot settle anything', async () => {
      const { queue, receive, settle, messages } = await sent('1');
      const [late] = await receive();
      await settle(retry(0), late);
      const [current] = await receive();
      const given = deadLetterOf(messages[0] ?? changedAdvert());
      for (const verdict of [done, { kind: 'dead-letter', deadLetter: given } as const]) {
        await settle(verdict, late);
        expect(await queue.depth('main')).toBe(1);
      }
      await settle(done, current);
      expect(await queue.depth('main')).toBe(0);
    });

    it('only retries of a settled batch are delivered again', async () => {
      const { queue, receive } = await sent('1', '2', '3', '4');
      const [a, b, c, d] = await receive();
      await queue.settle([
        settlement(a, done),
        settlement(b, retry(0)),
        settlement(c, { kind: 'dead-letter', deadLetter: deadLetter() }),
        settlement(d, { kind: 'forgotten' }),
      ]);
      expect(messagesOf(await receive())).toEqual([b?.message]);
      expect(await queue.depth('main')).toBe(1);
    });
  });

  describe.runIf(controlsTime)(`${name}: queue of changed adverts, as time passes`, () => {
    it('a message comes again when it was not settled in its timeout', async () => {
      const { receive, advance, messages } = await sent('1', '1');
      await receive();
      advance(many.visibilityMs - 1);
      expect(await receive()).toEqual([]);
      advance(1);
      const after = await receive();
      expect(after.map(({ receives }) => receives)).toEqual([2, 2]);
      expect(messagesOf(after)).toEqual(messages);
    });

    it('a delivery has the time at which its message was accepted', async () => {
      const { receive, advance, now } = await sent('1');
      const sentAt = now();
      advance(60_000);
      expect((await receive())[0]?.sentAt).toBe(sentAt);
    });

    it.runIf(deduplicates)('a key is remembered for five minutes from its own sending', async () => {
      const { queue, receive, settle, advance, messages } = await sent('1');
      advance(60_000);
      const late = changedAdvert({ advertId: '2' });
      await queue.send([late]);
      await settle(done, ...(await receive()));
      advance(4 * 60_000);
      await queue.send([late, ...messages]);
      expect(messagesOf(await receive())).toEqual(messages);
    });

    it('a delivery that was never made settles nothing', async () => {
      const { queue, receive, settle } = await sent('1');
      const [delivery] = await receive();
      for (const id of ['', '7:1', `${delivery?.id}1`]) await settle(done, { ...(delivery as Delivery), id });
      expect(await queue.depth('main')).toBe(1);
    });
  });
}

function expectRising(deliveries: readonly Delivery[]): void {
  const positions = deliveries.map(({ position }) => position);
  expect(positions).toEqual([...new Set(positions)].sort());
}
