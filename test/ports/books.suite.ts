import { describe, expect, it } from 'vitest';
import { redriveDeadLetters } from '../../operators/operations/dead-letters.ts';
import type { ChangedAdvertsQueue, Inbox, Verdict } from '../../shared/ports/queue.ts';
import type { Aside } from '../../shared/state/aside.ts';
import { type BookKeeper, type Books, emptyBooks } from '../../shared/state/books.ts';
import type { DeadLetters } from '../../shared/state/dead-letters.ts';
import { changedAdvert, deadLetter, deadLetterOf, settlement } from '../helpers/records.ts';
import { type Cleaned, subjects } from './harness.ts';

export interface BooksSubject extends Cleaned {
  readonly queue: ChangedAdvertsQueue & Inbox;
  readonly bookKeeper: BookKeeper;
  readonly deadLetters: DeadLetters;
  readonly aside: Aside;
}

const many = { maxGroups: 10, maxPerGroup: 10, visibilityMs: 30_000 };
const { partnerAccount, generation } = changedAdvert();

/** Whether the books balance. */
const balances = (books: Books): boolean =>
  books.listed ===
  books.events + books.unchanged + books.coalesced + books.unavailable + books.deadLettered + books.inFlight;

/** Books, and the dead letters they count, where counting is one step with what is counted. */
export function booksSuite(name: string, make: () => Promise<BooksSubject>): void {
  describe(`${name}: books and dead letters`, () => {
    const subject = subjects(make);

    async function world() {
      const made = await subject();
      const { queue, bookKeeper } = made;
      return {
        ...made,
        redrive: async () => redriveDeadLetters(made, await made.deadLetters.list()),
        async putBack(): Promise<void> {
          const held = await made.aside.list(partnerAccount);
          await queue.sendAgain(held);
          await made.aside.remove(held);
        },
        async expectBooks(expected: Partial<Books>, deadLetters = 0): Promise<void> {
          const { redelivered: _always0, ...books } = await bookKeeper.read(partnerAccount, generation);
          expect(balances(books)).toBe(true);
          expect(books).toEqual({ ...emptyBooks, ...expected });
          expect(await bookKeeper.queue()).toMatchObject({ waiting: books.inFlight, deadLetters });
        },
        async settleNext(verdict: Verdict): Promise<void> {
          const [delivery] = await queue.receive(many);
          await queue.settle([settlement(delivery, verdict)]);
        },
      };
    }

    async function deadLettered() {
      const made = await world();
      const message = changedAdvert();
      const verdict = { kind: 'dead-letter', deadLetter: deadLetterOf(message) } as const;
      await made.queue.send([message]);
      await made.settleNext(verdict);
      return { ...made, message, verdict };
    }

    it('books count what was accepted', async () => {
      const { queue, expectBooks } = await world();
      await expectBooks({});
      await queue.send([changedAdvert(), changedAdvert()]);
      await expectBooks({ listed: 2, inFlight: 2 });
    });

    it('books show when the change that waits longest was listed', async () => {
      const { queue, bookKeeper, settleNext } = await world();
      const times = ['2026-11-20T12:00:00.000Z', '2026-11-20T12:05:00.000Z'];
      await queue.send(times.map((listedAt, index) => changedAdvert({ advertId: String(index), listedAt })));
      expect(await bookKeeper.queue()).toMatchObject({ oldestListedAt: times[0] });

      await settleNext({ kind: 'done', outcome: 'events' });

      expect(await bookKeeper.queue()).toMatchObject({ waiting: 1, oldestListedAt: times[1] });
    });

    it('books leave redriven messages out of the longest wait', async () => {
      const made = await deadLettered();
      await made.redrive();
      expect(await made.bookKeeper.queue()).toEqual({ waiting: 1, deadLetters: 0 });

      await made.putBack();

      expect(await made.bookKeeper.queue()).toEqual({ waiting: 1, deadLetters: 0 });
    });

    it('each outcome counts once, and none of a forgotten generation', async () => {
      const { queue, expectBooks } = await world();
      await queue.send(['1', '2', '3', '4', '5'].map((advertId) => changedAdvert({ advertId })));
      const deliveries = await queue.receive(many);
      const outcomes = ['events', 'unchanged', 'coalesced', 'unavailable'] as const;
      const settlements = [
        ...outcomes.map((outcome, index) => settlement(deliveries[index], { kind: 'done', outcome })),
        settlement(deliveries[4], { kind: 'forgotten' }),
      ];
      await queue.settle(settlements);
      await queue.settle(settlements);
      await expectBooks({ listed: 4, events: 1, unchanged: 1, coalesced: 1, unavailable: 1 });
    });

    it('books keep generations and partner accounts apart', async () => {
      const { queue, bookKeeper } = await world();
      const next = generation + 1;
      await queue.send([changedAdvert({ generation: next }), changedAdvert({ partnerAccount: 'other' })]);
      expect(await bookKeeper.read(partnerAccount, generation)).toMatchObject(emptyBooks);
      expect(await bookKeeper.read(partnerAccount, next)).toMatchObject({ listed: 1, inFlight: 1 });
      expect(await queue.depth(partnerAccount)).toBe(1);
    });

    it('a malformed page’s dead letter counts once, even when stored again', async () => {
      const { deadLetters, expectBooks } = await world();
      const malformed = deadLetter({ advertId: 'a', count: 900, fault: 'malformed-id' });
      await deadLetters.sendMalformed(malformed);
      await deadLetters.sendMalformed(malformed);
      expect(await deadLetters.list()).toMatchObject([malformed]);
      await expectBooks({}, 1);
    });

    it('a redriven message is taken back aside, behind others, under its key', async () => {
      const made = await deadLettered();
      const { queue, message, deadLetters, expectBooks } = made;
      const [stored] = await deadLetters.list();
      expect(stored).toMatchObject(deadLetterOf(message));
      expect(await deadLetters.list(stored?.id)).toEqual([stored]);
      await expectBooks({ listed: 1, deadLettered: 1 }, 1);
      expect(await queue.receive(many)).toEqual([]);
      const waiting = changedAdvert();
      await queue.send([waiting]);

      expect(await made.redrive()).toMatchObject({ redriven: [stored?.id] });

      expect((await made.aside.list(partnerAccount)).map((one) => one.message)).toEqual([
        { ...message, redriven: true },
      ]);
      await expectBooks({ listed: 2, inFlight: 2 });
      await made.putBack();
      await expectBooks({ listed: 2, inFlight: 2 });
      const deliveries = await queue.receive(many);
      expect(deliveries.map((delivery) => [delivery.message, delivery.receives])).toEqual([
        [waiting, 1],
        [{ ...message, redriven: true }, 1],
      ]);
      expect(await deadLetters.list()).toEqual([]);
    });

    it('a message counts once when it is dead-lettered again after a redrive', async () => {
      const made = await deadLettered();
      await made.redrive();
      await made.putBack();
      await made.settleNext(made.verdict);
      await made.expectBooks({ listed: 1, deadLettered: 1 }, 1);
      expect(await made.redrive()).toMatchObject({ redriven: [expect.any(String)] });
      await made.expectBooks({ listed: 1, inFlight: 1 });
    });

    it('a dropped dead letter still counts', async () => {
      const made = await deadLettered();
      await made.deadLetters.drop(await made.deadLetters.list());
      await made.expectBooks({ listed: 1, deadLettered: 1 });
    });
  });
}
