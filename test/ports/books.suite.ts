import { describe, expect, it } from 'vitest';
import type { ChangedAdvert, DeadLetter } from '../../shared/contract/messages.ts';
import type { Books } from '../../shared/domain/books.ts';
import { emptyBooks } from '../../shared/domain/books.ts';
import type { BookKeeper } from '../../shared/ports/books.ts';
import type { ChangedAdvertsQueue } from '../../shared/ports/changed-adverts-queue.ts';
import type { DeadLetters } from '../../shared/ports/dead-letters.ts';
import type { Inbox, Settler } from '../../shared/ports/deliveries.ts';
import type { FeedStates } from '../../shared/ports/feed-states.ts';
import { changedAdvert, deadLetter, feedState, letterOf, progress, settlement } from '../helpers/records.ts';
import { type Capabilities, type Cleaned, subjects } from './harness.ts';

/** An operator's actions on dead letters. */
export interface StoredDeadLetters extends DeadLetters {
  list(partnerAccount?: string): Promise<readonly { readonly id: string; readonly letter: DeadLetter }[]>;
  take(id: string): Promise<DeadLetter | undefined>;
  redrive(id: string): Promise<'redriven' | 'unknown' | 'nothing-to-send'>;
}

export interface BooksSubject extends Cleaned {
  readonly queue: ChangedAdvertsQueue & Inbox & Settler;
  readonly feedStates: FeedStates;
  readonly bookKeeper: BookKeeper;
  readonly deadLetters: StoredDeadLetters;
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

    it('list what was accepted, once for a key', async () => {
      const { queue, bookKeeper } = await subject();
      const message = changedAdvert();
      await queue.send([message, changedAdvert()]);
      await queue.send([message]);
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

    it('count IDs that a page names twice with the cursor, and not without it', async () => {
      const { feedStates, bookKeeper } = await subject();
      await feedStates.register(feedState());
      const lease = await feedStates.acquire(key, 'a', nowMs, 90_000);
      const fence = lease && 'fence' in lease ? lease.fence : 0;
      const page = progress({ counts: { listed: 10, malformed: 0, repeated: 3 } });
      await feedStates.advance(key, fence, page, nowMs, 90_000);
      await feedStates.advance(key, fence + 1, page, nowMs, 90_000);
      expect(await read(bookKeeper)).toEqual({ ...emptyBooks, listed: 3, coalesced: 3 });
    });

    it('count a malformed ID as listed and dead-lettered', async () => {
      const { feedStates, bookKeeper, deadLetters } = await subject();
      await feedStates.register(feedState());
      const letter = deadLetter({ advertId: '../12', fault: 'malformed-id' });
      await deadLetters.sendMalformed([letter]);
      expect(await read(bookKeeper)).toEqual({ ...emptyBooks, listed: 1, deadLettered: 1 });
      const [stored] = await deadLetters.list();
      expect(stored?.letter).toEqual(letter);
      expect(await deadLetters.redrive(stored?.id ?? '')).toBe('nothing-to-send');
      expect(await bookKeeper.queue()).toMatchObject({ deadLetters: 1 });
    });

    it('count the one letter of a page with each malformed ID that it stands for', async () => {
      const { deadLetters, feedStates, bookKeeper } = await subject();
      await feedStates.register(feedState());

      await deadLetters.sendMalformed([deadLetter({ advertId: 'a', count: 900, fault: 'malformed-id' })]);

      expect(await read(bookKeeper)).toEqual({ ...emptyBooks, listed: 900, deadLettered: 900 });
      expect(await bookKeeper.queue()).toEqual({ waiting: 0, deadLetters: 1 });
    });

    it('count a malformed ID for no generation where the feed is not known any more, or names no account', async () => {
      const { feedStates, bookKeeper, deadLetters } = await subject();
      await feedStates.register(feedState());
      await feedStates.remove(partnerAccount);
      await deadLetters.sendMalformed([deadLetter(), deadLetter({ partnerAccount: null })]);
      expect(await read(bookKeeper)).toEqual(emptyBooks);
      for (const name of [partnerAccount, ''])
        expect(await bookKeeper.read(name, 0)).toMatchObject({ listed: 1, deadLettered: 1 });
      expect(await deadLetters.list('')).toHaveLength(1);
    });

    it('list all letters, however many there are', async () => {
      const { bookKeeper, deadLetters } = await subject();
      await deadLetters.sendMalformed(
        Array.from({ length: 101 }, (_, index) => deadLetter({ advertId: String(index) })),
      );
      const listed = await deadLetters.list();
      expect(listed.map(({ letter }) => letter.advertId)).toEqual(
        Array.from({ length: 101 }, (_, index) => String(index)),
      );
      expect(await deadLetters.list(partnerAccount)).toHaveLength(101);
      expect(await bookKeeper.queue()).toMatchObject({ deadLetters: 101 });
    });

    it('keep a letter that has no message to send', async () => {
      const { bookKeeper, deadLetters } = await subject();
      await deadLetters.sendMalformed([deadLetter()]);
      const [stored] = await deadLetters.list();
      expect(await deadLetters.redrive(stored?.id ?? '')).toBe('nothing-to-send');
      expect(await bookKeeper.queue()).toEqual({ waiting: 0, deadLetters: 1 });
      expect(await deadLetters.redrive('12345')).toBe('unknown');
      expect(await deadLetters.take('12345')).toBeUndefined();
    });

    it('keep the letter of what is dead-lettered, once', async () => {
      const message = changedAdvert();
      const { queue, bookKeeper, deadLetters } = await deadLettered(message);
      const [stored] = await deadLetters.list();
      expect(stored?.letter).toEqual(letterOf(message));
      expect(await read(bookKeeper)).toEqual({ ...emptyBooks, listed: 1, deadLettered: 1 });
      expect(await bookKeeper.queue()).toEqual({ waiting: 0, deadLetters: 1 });
      expect(await queue.receive(many)).toEqual([]);
    });

    it('give a redriven message back to the queue, behind what waits, under its own key', async () => {
      const message = changedAdvert();
      const { queue, bookKeeper, deadLetters } = await deadLettered(message);
      const waiting = changedAdvert();
      await queue.send([waiting]);
      const [stored] = await deadLetters.list();

      expect(await deadLetters.redrive(stored?.id ?? '')).toBe('redriven');

      expect(await bookKeeper.queue()).toMatchObject({ deadLetters: 0 });
      expect(await read(bookKeeper)).toEqual({ ...emptyBooks, listed: 2, inFlight: 2 });
      const deliveries = await queue.receive(many);
      expect(deliveries.map((delivery) => delivery.message)).toEqual([waiting, message]);
      expect(deliveries.map(({ receives }) => receives)).toEqual([1, 1]);
      expect(await deadLetters.redrive(stored?.id ?? '')).toBe('unknown');
    });

    it('go on counting a letter that was taken out', async () => {
      const message = changedAdvert();
      const { bookKeeper, deadLetters } = await deadLettered(message);
      const [stored] = await deadLetters.list();
      expect(await deadLetters.take(stored?.id ?? '')).toEqual(letterOf(message));
      expect(await deadLetters.take(stored?.id ?? '')).toBeUndefined();
      expect(await bookKeeper.queue()).toMatchObject({ deadLetters: 0 });
      expect(await read(bookKeeper)).toEqual({ ...emptyBooks, listed: 1, deadLettered: 1 });
    });

    it('list letters by partner account, oldest first', async () => {
      const { deadLetters } = await subject();
      const named = (account: string, advertId: string) => deadLetter({ partnerAccount: account, advertId });
      await deadLetters.sendMalformed([named('main', 'a'), named('other', 'b'), named('main', 'c')]);
      const ids = async (name?: string) =>
        (await deadLetters.list(name)).map(({ letter }) => letter.advertId);
      expect(await ids('main')).toEqual(['a', 'c']);
      expect(await ids()).toEqual(['a', 'b', 'c']);
      expect(await ids('nobody')).toEqual([]);
    });
  });
}
