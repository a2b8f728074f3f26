import { describe, expect, it } from 'vitest';
import type { ChangedAdvertsQueue, Delivery, Inbox, Settler } from '../../shared/ports/queue.ts';
import { changedAdvert, deadLetter, letterOf, settlement } from '../helpers/records.ts';
import { type Capabilities, type Cleaned, subjects } from './harness.ts';

export interface QueueSubject extends Cleaned {
  readonly queue: ChangedAdvertsQueue & Inbox & Settler;
  /** Where the world's time can be controlled. */
  readonly advance?: (ms: number) => void;
  readonly now?: () => number;
}

const many = { maxGroups: 10, maxPerGroup: 10, visibilityMs: 30_000 };
const done = { kind: 'done', outcome: 'events' } as const;

/** Conformance tests for every queue between drain and fan-out. */
export function changedAdvertsQueueSuite(
  name: string,
  { controlsTime, deduplicates }: Capabilities,
  make: () => Promise<QueueSubject>,
): void {
  describe(`${name}: queue of changed adverts`, () => {
    const subject = subjects(make);

    it('has nothing at first', async () => {
      const { queue } = await subject();
      expect(await queue.receive(many)).toEqual([]);
      expect(await queue.depth('main')).toBe(0);
      expect(await queue.send([])).toEqual(new Set());
      await queue.settle([]);
    });

    it('hands out what was sent, byte for byte', async () => {
      const { queue } = await subject();
      const message = changedAdvert({ correlationId: 'read ✓', cause: 'resync' });
      expect(await queue.send([message])).toEqual(new Set());
      const [delivery] = await queue.receive(many);
      expect(delivery).toMatchObject({ message, receives: 1 });
      expect(delivery?.flaw).toBeUndefined();
    });

    it('accepts a whole page at once', async () => {
      const { queue } = await subject();
      const page = Array.from({ length: 1000 }, (_, index) => changedAdvert({ advertId: String(index) }));
      expect(await queue.send(page)).toEqual(new Set());
      expect(await queue.depth('main')).toBe(1000);
    });

    it('hands out the messages of one advert together, oldest first, with rising positions', async () => {
      const { queue } = await subject();
      const messages = [1, 2, 3].map(() => changedAdvert());
      await queue.send(messages);
      const deliveries = await queue.receive(many);
      expect(deliveries.map(({ message }) => message)).toEqual(messages);
      expectRising(deliveries);
    });

    it('hands out no more of an advert than was asked for', async () => {
      const { queue } = await subject();
      const messages = [1, 2, 3].map(() => changedAdvert());
      await queue.send(messages);
      const deliveries = await queue.receive({ ...many, maxPerGroup: 2 });
      expect(deliveries.map(({ message }) => message)).toEqual(messages.slice(0, 2));
      expect(await queue.receive(many)).toEqual([]);
    });

    it('hands out nothing more of an advert of which something is in flight', async () => {
      const { queue } = await subject();
      const [first, second, other] = [changedAdvert(), changedAdvert(), changedAdvert({ advertId: '9' })];
      await queue.send([first]);
      const held = await queue.receive(many);
      await queue.send([second, other]);
      expect((await queue.receive(many)).map(({ message }) => message)).toEqual([other]);

      await queue.settle([settlement(held[0], done)]);

      const next = await queue.receive(many);
      expect(next.map(({ message }) => message)).toEqual([second]);
      expectRising([...held, ...next]);
    });

    it('keeps the same advert of two partner accounts apart', async () => {
      const { queue } = await subject();
      await queue.send([changedAdvert()]);
      await queue.receive(many);
      const other = changedAdvert({ partnerAccount: 'other' });
      await queue.send([other]);
      expect((await queue.receive(many)).map(({ message }) => message)).toEqual([other]);
    });

    it('takes at most so many adverts, the one waiting longest first', async () => {
      const { queue } = await subject();
      const messages = ['1', '2', '3', '1'].map((advertId) => changedAdvert({ advertId }));
      await queue.send(messages);
      const deliveries = await queue.receive({ ...many, maxGroups: 2 });
      expect(new Set(deliveries.map(({ message }) => message?.advertId))).toEqual(new Set(['1', '2']));
      expect(deliveries).toHaveLength(3);
      expect((await queue.receive(many)).map(({ message }) => message?.advertId)).toEqual(['3']);
    });

    it.runIf(deduplicates)(
      'accepts a key that it has just accepted, and does not hand it out again',
      async () => {
        const { queue } = await subject();
        const message = changedAdvert();
        await queue.send([message]);
        expect(await queue.send([message])).toEqual(new Set());
        const [delivery] = await queue.receive(many);
        await queue.settle([settlement(delivery, done)]);
        expect(await queue.send([message])).toEqual(new Set());
        expect(await queue.receive(many)).toEqual([]);
        expect(await queue.depth('main')).toBe(0);
      },
    );

    it('counts what waits for one partner account, what is in flight included', async () => {
      const { queue } = await subject();
      await queue.send([changedAdvert(), changedAdvert(), changedAdvert({ partnerAccount: 'other' })]);
      const deliveries = await queue.receive({ ...many, maxGroups: 1 });
      expect(await queue.depth('main')).toBe(2);
      await queue.settle(deliveries.map((delivery) => settlement(delivery, done)));
      expect(await queue.depth('main')).toBe(0);
      expect(await queue.depth('nobody')).toBe(0);
    });

    it.each([
      ['done', done],
      ['forgotten', { kind: 'forgotten' }],
      ['dead-lettered', { kind: 'dead-letter', letter: deadLetter() }],
    ] as const)('never hands out again what is %s', async (_, verdict) => {
      const { queue } = await subject();
      await queue.send([changedAdvert()]);
      const [delivery] = await queue.receive(many);
      await queue.settle([settlement(delivery, verdict)]);
      expect(await queue.depth('main')).toBe(0);
      expect(await queue.receive(many)).toEqual([]);
    });

    it('hands out again at once what goes back without a delay, counted and at a greater position', async () => {
      const { queue } = await subject();
      const [first, second] = [changedAdvert(), changedAdvert()];
      await queue.send([first]);
      const [before] = await queue.receive(many);
      await queue.send([second]);
      await queue.settle([settlement(before, { kind: 'retry', delayMs: 0 })]);
      const after = await queue.receive(many);
      expect(after.map(({ message, receives }) => [message, receives])).toEqual([
        [first, 2],
        [second, 1],
      ]);
      expectRising([before as Delivery, ...after]);
      expect(after[0]?.sentAt).toBe(before?.sentAt);
    });

    it('carries out nothing for a delivery that has been followed by another', async () => {
      const { queue } = await subject();
      const message = changedAdvert();
      await queue.send([message]);
      const [late] = await queue.receive(many);
      await queue.settle([settlement(late, { kind: 'retry', delayMs: 0 })]);
      const [current] = await queue.receive(many);
      for (const verdict of [done, { kind: 'dead-letter', letter: letterOf(message) } as const]) {
        await queue.settle([settlement(late, verdict)]);
        expect(await queue.depth('main')).toBe(1);
      }
      await queue.settle([settlement(current, done)]);
      expect(await queue.depth('main')).toBe(0);
    });

    it('settles a batch of different verdicts', async () => {
      const { queue } = await subject();
      const messages = ['1', '2', '3', '4'].map((advertId) => changedAdvert({ advertId }));
      await queue.send(messages);
      const [a, b, c, d] = await queue.receive(many);
      await queue.settle([
        settlement(a, done),
        settlement(b, { kind: 'retry', delayMs: 0 }),
        settlement(c, { kind: 'dead-letter', letter: letterOf(messages[2] ?? changedAdvert()) }),
        settlement(d, { kind: 'forgotten' }),
      ]);
      expect((await queue.receive(many)).map(({ message }) => message?.advertId)).toEqual([
        b?.message?.advertId,
      ]);
    });
  });

  describe.runIf(controlsTime)(`${name}: queue of changed adverts, as time passes`, () => {
    const subject = subjects(make);
    const timed = async () => {
      const { queue, advance = () => {}, now = () => 0 } = await subject();
      return { queue, advance, now };
    };

    it('hands out again what was not settled in its visibility timeout', async () => {
      const { queue, advance } = await timed();
      await queue.send([changedAdvert(), changedAdvert()]);
      const before = await queue.receive(many);
      advance(many.visibilityMs - 1);
      expect(await queue.receive(many)).toEqual([]);
      advance(1);
      const after = await queue.receive(many);
      expect(after.map(({ receives }) => receives)).toEqual([2, 2]);
      expect(after.map(({ message }) => message)).toEqual(before.map(({ message }) => message));
    });

    it('blocks the whole advert until the delay of what goes back is over', async () => {
      const { queue, advance } = await timed();
      const [first, second] = [changedAdvert(), changedAdvert()];
      await queue.send([first]);
      const [delivery] = await queue.receive(many);
      await queue.send([second]);
      await queue.settle([settlement(delivery, { kind: 'retry', delayMs: 5_000 })]);
      advance(4_999);
      expect(await queue.receive(many)).toEqual([]);
      advance(1);
      expect((await queue.receive(many)).map(({ message }) => message)).toEqual([first, second]);
    });

    it('waits for the last of an advert’s messages that are in flight', async () => {
      const { queue, advance } = await timed();
      await queue.send([changedAdvert(), changedAdvert()]);
      const [first, second] = await queue.receive(many);
      await queue.settle([settlement(first, { kind: 'retry', delayMs: 1_000 })]);
      advance(2_000);
      expect(await queue.receive(many)).toEqual([]);
      await queue.settle([settlement(second, done)]);
      expect((await queue.receive(many)).map(({ id, receives }) => [id === first?.id, receives])).toEqual([
        [false, 2],
      ]);
    });

    it('puts the adverts in the order of their oldest message, also after a delay', async () => {
      const { queue, advance } = await timed();
      await queue.send(['1', '2', '3'].map((advertId) => changedAdvert({ advertId })));
      const [first] = await queue.receive({ ...many, maxGroups: 1 });
      await queue.settle([settlement(first, { kind: 'retry', delayMs: 1_000 })]);
      advance(1_000);
      expect((await queue.receive(many)).map(({ message }) => message?.advertId)).toEqual(['1', '2', '3']);
    });

    it('holds back an advert that is in line again when one of its messages is put off late', async () => {
      const { queue, advance } = await timed();
      await queue.send(['0', '1', '1'].map((advertId) => changedAdvert({ advertId })));
      const [, , late] = await queue.receive(many);
      advance(many.visibilityMs);
      expect(await queue.receive({ ...many, maxGroups: 1 })).toHaveLength(1);
      await queue.settle([settlement(late, { kind: 'retry', delayMs: 5_000 })]);
      expect(await queue.receive(many)).toEqual([]);
      advance(5_000);
      expect((await queue.receive(many)).map(({ receives }) => receives)).toEqual([2, 2]);
    });

    it('says when it accepted a message', async () => {
      const { queue, advance, now } = await timed();
      const sentAt = now();
      await queue.send([changedAdvert()]);
      advance(60_000);
      expect((await queue.receive(many))[0]?.sentAt).toBe(sentAt);
    });

    it.runIf(deduplicates)('remembers a key for five minutes from its own sending', async () => {
      const { queue, advance } = await timed();
      const [early, late] = [changedAdvert({ advertId: '1' }), changedAdvert({ advertId: '2' })];
      await queue.send([early]);
      advance(60_000);
      await queue.send([late]);
      await queue.settle((await queue.receive(many)).map((delivery) => settlement(delivery, done)));
      advance(4 * 60_000);
      await queue.send([late]);
      await queue.send([early]);
      expect((await queue.receive(many)).map(({ message }) => message)).toEqual([early]);
    });

    it('settles nothing for a delivery that it has never made', async () => {
      const { queue } = await timed();
      await queue.send([changedAdvert()]);
      const [delivery] = await queue.receive(many);
      for (const id of ['', '7:1', `${delivery?.id}1`])
        await queue.settle([settlement({ ...(delivery as Delivery), id }, done)]);
      expect(await queue.depth('main')).toBe(1);
    });
  });
}

function expectRising(deliveries: readonly Delivery[]): void {
  const positions = deliveries.map(({ position }) => position);
  expect(positions).toEqual([...new Set(positions)].sort());
}
