import { describe, expect, it } from 'vitest';
import { dropDeadLetters, redriveDeadLetters } from '../../operations/dead-letters.ts';
import type { ChangedAdvert } from '../../shared/contract/messages.ts';
import type { ChangedAdvertsQueue, Inbox, Settler } from '../../shared/ports/queue.ts';
import type { Aside, DeadLetters } from '../../shared/state/aside.ts';
import type { BookKeeper, Books } from '../../shared/state/books.ts';
import { emptyBooks } from '../../shared/state/books.ts';
import type { FeedStates, Lease } from '../../shared/state/feed-states.ts';
import { changedAdvert, deadLetter, feedState, letterOf, progress, settlement } from '../helpers/records.ts';
import { type Capabilities, type Cleaned, subjects } from './harness.ts';

export interface BooksSubject extends Cleaned {
  readonly queue: ChangedAdvertsQueue & Inbox & Settler;
  readonly feedStates: FeedStates;
  readonly bookKeeper: BookKeeper;
  readonly deadLetters: DeadLetters;
  readonly aside: Aside;
}

const many = { maxGroups: 10, maxPerGroup: 10, visibilityMs: 30_000 };
const { partnerAccount, generation } = changedAdvert();
const key = { partnerAccount, feed: 'adverts' };
const nowMs = Date.parse('2026-11-20T12:00:00Z');

/** Whether the books balance. */
export const balances = (books: Books): boolean =>
  books.listed ===
  books.events + books.unchanged + books.coalesced + books.unavailable + books.deadLettered + books.inFlight;

/** Books, and the dead letters they count, where counting is one step with what is counted. */
export function booksSuite(
  name: string,
  { countsOnAcceptance }: Capabilities,
  make: () => Promise<BooksSubject>,
): void {
  describe.runIf(countsOnAcceptance)(`${name}: books and dead letters`, () => {
    const subject = subjects(make);

    async function read(bookKeeper: BookKeeper): Promise<Books> {
      const { redelivered: _always0, ...books } = await bookKeeper.read(partnerAccount, generation);
      expect(balances(books)).toBe(true);
      return books;
    }

    async function deadLettered(message: ChangedAdvert) {
      const made = await subject();
      await made.queue.send([message]);
      const [delivery] = await made.queue.receive(many);
      await made.queue.settle([settlement(delivery, { kind: 'dead-letter', letter: letterOf(message) })]);
      return made;
    }

    it('are empty at first', async () => {
      const { bookKeeper } = await subject();
      expect(await read(bookKeeper)).toEqual(emptyBooks);
      expect(await bookKeeper.queue()).toEqual({ waiting: 0, deadLetters: 0 });
    });

    it('list what was accepted', async () => {
      const { queue, bookKeeper } = await subject();
      await queue.send([changedAdvert(), changedAdvert()]);
      expect(await read(bookKeeper)).toEqual({ ...emptyBooks, listed: 2, inFlight: 2 });
      expect(await bookKeeper.queue()).toMatchObject({ waiting: 2, deadLetters: 0 });
    });

    it('tell when the change that waits longest was listed', async () => {
      const { queue, bookKeeper } = await subject();
      const times = ['2026-11-20T12:00:00.000Z', '2026-11-20T12:05:00.000Z'];
      await queue.send(times.map((listedAt, index) => changedAdvert({ advertId: String(index), listedAt })));
      expect(await bookKeeper.queue()).toMatchObject({ oldestListedAt: times[0] });

      const [first] = await queue.receive(many);
      await queue.settle([settlement(first, { kind: 'done', outcome: 'events' })]);

      expect(await bookKeeper.queue()).toMatchObject({ waiting: 1, oldestListedAt: times[1] });
    });

    it('count each outcome once, whoever comes late', async () => {
      const { queue, bookKeeper } = await subject();
      await queue.send(['1', '2', '3', '4'].map((advertId) => changedAdvert({ advertId })));
      const deliveries = await queue.receive(many);
      const outcomes = ['events', 'unchanged', 'coalesced', 'unavailable'] as const;
      const settlements = outcomes.map((outcome, index) =>
        settlement(deliveries[index], { kind: 'done', outcome }),
      );
      await queue.settle(settlements);
      await queue.settle(settlements);
      expect(await read(bookKeeper)).toEqual({
        ...emptyBooks,
        listed: 4,
        events: 1,
        unchanged: 1,
        coalesced: 1,
        unavailable: 1,
      });
    });

    it('keep generations and partner accounts apart', async () => {
      const { queue, bookKeeper } = await subject();
      await queue.send([
        changedAdvert({ generation: generation + 1 }),
        changedAdvert({ partnerAccount: 'other' }),
      ]);
      expect(await read(bookKeeper)).toEqual(emptyBooks);
      expect(await bookKeeper.read(partnerAccount, generation + 1)).toMatchObject({ listed: 1, inFlight: 1 });
      expect(await queue.depth(partnerAccount)).toBe(1);
    });

    it('leave out what belongs to a generation that was forgotten', async () => {
      const { queue, bookKeeper } = await subject();
      await queue.send([changedAdvert()]);
      const [delivery] = await queue.receive(many);
      await queue.settle([settlement(delivery, { kind: 'forgotten' })]);
      expect(await read(bookKeeper)).toEqual(emptyBooks);
    });

    it('count repeated and malformed IDs of a page with the cursor, and not without it', async () => {
      const { feedStates, bookKeeper } = await subject();
      await feedStates.register(feedState());
      const lease = (await feedStates.acquire(key, { holder: 'a', nowMs, leaseMs: 90_000 })) as Lease;
      const page = progress({ counts: { listed: 10, malformed: 2, repeated: 3 } });
      await feedStates.advance(lease, page, { nowMs, leaseMs: 90_000 });
      await feedStates.advance(lease, page, { nowMs, leaseMs: 90_000 });
      expect(await read(bookKeeper)).toEqual({ ...emptyBooks, listed: 5, coalesced: 3, deadLettered: 2 });
    });

    it('count the one dead letter of a page with malformed IDs once, also when it is stored again', async () => {
      const { deadLetters, bookKeeper } = await subject();
      const malformed = deadLetter({ advertId: 'a', count: 900, fault: 'malformed-id' });
      await deadLetters.sendMalformed([malformed]);
      await deadLetters.sendMalformed([malformed]);
      expect((await deadLetters.list()).map(({ letter }) => letter)).toEqual([malformed]);
      expect(await bookKeeper.queue()).toEqual({ waiting: 0, deadLetters: 1 });
    });

    it('keep the dead letter of a message, once', async () => {
      const message = changedAdvert();
      const { queue, bookKeeper, deadLetters } = await deadLettered(message);
      const [stored] = await deadLetters.list();
      expect(stored?.letter).toEqual(letterOf(message));
      expect(await deadLetters.get(stored?.id ?? '')).toEqual(stored);
      expect(await read(bookKeeper)).toEqual({ ...emptyBooks, listed: 1, deadLettered: 1 });
      expect(await bookKeeper.queue()).toEqual({ waiting: 0, deadLetters: 1 });
      expect(await queue.receive(many)).toEqual([]);
    });

    it('take a redriven message back into the queue, behind what waits, under its own key', async () => {
      const message = changedAdvert();
      const made = await deadLettered(message);
      const { queue, bookKeeper, deadLetters } = made;
      const waiting = changedAdvert();
      await queue.send([waiting]);
      const [stored] = await deadLetters.list();
      const filter = { ids: [stored?.id ?? ''] };

      expect(await redriveDeadLetters(made, filter)).toMatchObject({ redriven: filter.ids });

      expect(await bookKeeper.queue()).toMatchObject({ deadLetters: 0 });
      expect(await read(bookKeeper)).toEqual({ ...emptyBooks, listed: 2, inFlight: 2 });
      const deliveries = await queue.receive(many);
      expect(deliveries.map((delivery) => delivery.message)).toEqual([waiting, message]);
      expect(deliveries.map(({ receives }) => receives)).toEqual([1, 1]);
      expect(await redriveDeadLetters(made, filter)).toMatchObject({ redriven: [] });
    });

    it('count a message that is dead-lettered again after its redrive, once', async () => {
      const message = changedAdvert();
      const made = await deadLettered(message);
      await redriveDeadLetters(made, {});
      const [delivery] = await made.queue.receive(many);
      await made.queue.settle([settlement(delivery, { kind: 'dead-letter', letter: letterOf(message) })]);
      expect(await read(made.bookKeeper)).toEqual({ ...emptyBooks, listed: 1, deadLettered: 1 });
      expect(await redriveDeadLetters(made, {})).toMatchObject({ redriven: [expect.any(String)] });
      expect(await read(made.bookKeeper)).toEqual({ ...emptyBooks, listed: 1, inFlight: 1 });
    });

    it('go on counting a dead letter that was dropped', async () => {
      const made = await deadLettered(changedAdvert());
      expect(await dropDeadLetters(made, {})).toHaveLength(1);
      expect(await dropDeadLetters(made, {})).toEqual([]);
      expect(await made.bookKeeper.queue()).toMatchObject({ deadLetters: 0 });
      expect(await read(made.bookKeeper)).toEqual({ ...emptyBooks, listed: 1, deadLettered: 1 });
    });
  });
}
