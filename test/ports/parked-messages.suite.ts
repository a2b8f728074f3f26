import { describe, expect, it } from 'vitest';
import type { ChangedAdvert } from '../../shared/contract/messages.ts';
import type { BookKeeper } from '../../shared/ports/books.ts';
import type { ChangedAdvertsQueue } from '../../shared/ports/changed-adverts-queue.ts';
import type { Delivery, Inbox, Settler } from '../../shared/ports/deliveries.ts';
import type { ParkedMessages } from '../../shared/ports/parked-messages.ts';
import { changedAdvert, settlement } from '../helpers/records.ts';
import { type Cleaned, subjects } from './harness.ts';

export interface ParkedSubject extends Cleaned {
  readonly queue: ChangedAdvertsQueue & Inbox & Settler;
  readonly parked: ParkedMessages;
  /** Where the books are one step with what is counted. */
  readonly bookKeeper?: BookKeeper;
  /** Of the clock that marks are kept by; messages are dated by it where the queue has no clock of its own. */
  readonly advance: (ms: number) => void;
  readonly now: () => number;
}

const all = { maxGroups: 1_000, maxPerGroup: 10, visibilityMs: 30_000 };
/** Longer than a mark is kept over its messages. */
const longMs = 600_000;

/** Messages that wait outside the queue. */
export function parkedMessagesSuite(name: string, make: () => Promise<ParkedSubject>): void {
  describe(`${name}: parked messages`, () => {
    const subject = subjects(make);

    async function received({ queue }: ParkedSubject): Promise<Delivery[]> {
      const taken: Delivery[] = [];
      for (let some = await queue.receive(all); some.length > 0; some = await queue.receive(all)) {
        taken.push(...some);
      }
      return taken;
    }

    /** Sends messages and parks them. */
    async function parking(made: ParkedSubject, messages: readonly ChangedAdvert[]): Promise<Delivery[]> {
      await made.queue.send(messages);
      const deliveries = await received(made);
      await made.queue.settle(deliveries.map((delivery) => settlement(delivery, { kind: 'park' })));
      return deliveries;
    }

    const release = ({ parked, now }: ParkedSubject, most = 1_000, account = 'main') =>
      parked.release(account, { most, deadlineMs: now() + 60_000 });
    const adverts = (count: number) =>
      Array.from({ length: count }, (_, index) => changedAdvert({ advertId: String(100 + index) }));

    it('are none at first', async () => {
      const made = await subject();
      expect(await made.parked.accounts()).toEqual([]);
      expect(await release(made)).toBe(0);
    });

    it('are not handed out, however long they wait', async () => {
      const made = await subject();
      await parking(made, adverts(3));
      made.advance(86_400_000);
      expect(await received(made)).toEqual([]);
      expect(await made.parked.accounts()).toEqual(['main']);
    });

    it('come back as they were, oldest first, as new messages at a greater position', async () => {
      const made = await subject();
      const messages = adverts(3);
      const before = await parking(made, messages);
      made.advance(3_600_000);

      expect(await release(made)).toBe(3);

      const after = await received(made);
      expect(after.map(({ message, receives }) => [message, receives])).toEqual(
        messages.map((message) => [message, 1]),
      );
      for (const { message, position, sentAt } of after) {
        const earlier = before.find((one) => one.message?.key === message?.key);
        expect(position > (earlier?.position ?? '~')).toBe(true);
        expect(sentAt).toBeGreaterThanOrEqual(earlier?.sentAt ?? Number.NaN);
      }
    });

    it('come back once, though they are released twice at once', async () => {
      const made = await subject();
      await parking(made, adverts(4));
      await Promise.all([release(made), release(made)]);
      expect(await received(made)).toHaveLength(4);
    });

    it('come back by so many at most, and the rest the next time', async () => {
      const made = await subject();
      const messages = adverts(5);
      await parking(made, messages);
      expect(await release(made, 2)).toBe(2);
      expect((await received(made)).map(({ message }) => message)).toEqual(messages.slice(0, 2));
      expect(await made.parked.accounts()).toEqual(['main']);
      expect(await release(made)).toBe(3);
      expect((await received(made)).map(({ message }) => message)).toEqual(messages.slice(2));
    });

    it('stay when there is no time left', async () => {
      const made = await subject();
      await parking(made, adverts(2));
      expect(await made.parked.release('main', { most: 10, deadlineMs: made.now() })).toBe(0);
      expect(await release(made)).toBe(2);
    });

    it('come back in portions, three hundred of them', async () => {
      const made = await subject();
      await parking(made, adverts(300));
      expect(await release(made)).toBe(300);
      expect(new Set((await received(made)).map(({ message }) => message?.advertId)).size).toBe(300);
    }, 30_000);

    it('of one partner account leave those of another alone', async () => {
      const made = await subject();
      const other = changedAdvert({ partnerAccount: 'other' });
      await parking(made, [changedAdvert(), other]);
      expect([...(await made.parked.accounts())].sort()).toEqual(['main', 'other']);
      await release(made);
      expect((await received(made)).map(({ message }) => message?.partnerAccount)).toEqual(['main']);
      expect(await release(made, 10, 'other')).toBe(1);
    });

    it('may be parked again, and come back again', async () => {
      const made = await subject();
      const [message] = adverts(1) as [ChangedAdvert];
      await parking(made, [message]);
      for (let time = 0; time < 2; time += 1) {
        expect(await release(made)).toBe(1);
        const deliveries = await received(made);
        expect(deliveries.map((one) => one.message)).toEqual([message]);
        await made.queue.settle(deliveries.map((one) => settlement(one, { kind: 'park' })));
      }
    });

    it('are none of an account any more a while after they have come back', async () => {
      const made = await subject();
      await parking(made, adverts(2));
      await release(made);
      made.advance(longMs);
      expect(await release(made)).toBe(0);
      expect(await made.parked.accounts()).toEqual([]);
    });

    it('are found, though they were parked in the very moment in which others come back', async () => {
      const made = await subject();
      await parking(made, adverts(1));
      await release(made);
      made.advance(longMs);
      await made.queue.send([changedAdvert({ advertId: '7' })]);
      const deliveries = await received(made);
      await Promise.all([
        release(made),
        made.queue.settle(deliveries.map((delivery) => settlement(delivery, { kind: 'park' }))),
      ]);
      made.advance(longMs);
      await release(made);
      expect((await received(made)).at(-1)?.message?.advertId).toBe('7');
    });

    it('are in flight in the books, and waiting', async () => {
      const made = await subject();
      if (!made.bookKeeper) return;
      const messages = adverts(3);
      const { generation } = messages[0] as ChangedAdvert;
      await parking(made, messages);
      const books = { listed: 3, inFlight: 3 };
      expect(await made.bookKeeper.read('main', generation)).toMatchObject(books);
      expect(await made.bookKeeper.queue()).toMatchObject({ waiting: 3 });
      expect(await made.queue.depth('main')).toBe(3);
      await release(made);
      expect(await made.bookKeeper.read('main', generation)).toMatchObject(books);
    });
  });
}
