import { readRows } from '../contract/checks.ts';
import type { ChangedAdvert } from '../contract/messages.ts';
import { forEachConcurrent } from '../domain/concurrency.ts';
import { type Counters, type Key, type Store, sumOf } from '../ports/store.ts';
import { feedStateOf } from './feed-states.ts';
import { listedByOperations } from './progress.ts';

export const emptyBooks = {
  listed: 0,
  events: 0,
  unchanged: 0,
  coalesced: 0,
  unavailable: 0,
  deadLettered: 0,
  inFlight: 0,
};

/** What became of the listed IDs of a generation. */
export interface Books extends Readonly<typeof emptyBooks> {
  /** Outcomes of repeated deliveries, perhaps counted twice; absent where counting and settling are one transaction. */
  readonly redelivered?: number;
}

/** Numbers to add to the books (negative for a redrive). */
export type Counts = { readonly [K in Exclude<keyof Books, 'inFlight'>]?: number };

export interface QueueFigures {
  /** Number of messages, including those in flight and those aside. */
  readonly waiting: number;
  /** There may be more messages aside than were counted: then the books say how many. */
  readonly isMore?: true;
  readonly deadLetters: number;
  /** Of the change that waits longest. SQS does not show its messages, so on AWS only of those aside. */
  readonly oldestListedAt?: string;
}

/** The row of what the queue, or fan-out, has counted. */
export const booksKey = (partnerAccount: string, generation: number): Key => ({
  kind: 'books',
  name: `${partnerAccount}/${generation}/sums`,
});

/**
 * The row in which release 0.3.0 counts, also while it is being replaced: it would overwrite the sums of any other form.
 * Of an account that was moved from a folder: what was counted there.
 */
export const olderBooksKey = (partnerAccount: string, generation: number): Key => ({
  kind: 'books',
  name: `${partnerAccount}/${generation}`,
});

/** What is to be counted in the books of a generation. */
export type Counted = readonly [of: Pick<ChangedAdvert, 'partnerAccount' | 'generation'>, counts: Counts];

/** One sum for each row of the books; none if there is nothing to count. */
export function sumsByGeneration(all: readonly Counted[]): readonly (readonly [Key, Counters])[] {
  const sums = new Map<string, readonly [Key, Counters]>();
  for (const [{ partnerAccount, generation }, counts] of all) {
    const key = booksKey(partnerAccount, generation);
    sums.set(key.name, [key, sumOf(sums.get(key.name)?.[1], counts)]);
  }
  return [...sums.values()].filter(([, counts]) => Object.values(counts).some(Boolean));
}

/** For a queue that counts its outcomes after they happen. `redelivered` is there from the first one on. */
export const countInBooks = (store: Pick<Store, 'add'>, all: readonly Counted[]): Promise<void> =>
  forEachConcurrent(sumsByGeneration(all), 4, ([key, counts]) =>
    store.add(key, { redelivered: 0, ...counts }),
  );

/** Number of messages without an outcome, in the queue or aside. */
export const inFlightIn = (counted: Counters): number => booksOf(counted).inFlight;

function booksOf(counted: Counters): Books {
  const books = { ...emptyBooks, ...counted };
  const { events, unchanged, coalesced, unavailable, deadLettered } = books;
  const settled = events + unchanged + coalesced + unavailable + deadLettered;
  return { ...books, inFlight: Math.max(0, books.listed - settled) };
}

export type BookKeeper = ReturnType<typeof bookKeeperOf>;

/** @param queue the figures of the whole queue, which each world counts in its own way */
export const bookKeeperOf = (store: Store, queue: () => Promise<QueueFigures>) => ({
  read: (partnerAccount: string, generation: number) => readBooks(store, partnerAccount, generation),
  queue,
});

/**
 * The books of a generation: the sums of outcomes, which have a row of their own; what pages counted, which is stored
 * with each feed's cursor; and what was listed without a cursor, which is stored with the progress of operations.
 */
export async function readBooks(store: Store, partnerAccount: string, generation: number): Promise<Books> {
  const [row, olderRow, listedBeside, feedRows] = await Promise.all([
    store.get(booksKey(partnerAccount, generation)),
    store.get(olderBooksKey(partnerAccount, generation)),
    listedByOperations(store, { partnerAccount, generation }),
    store.list('feed', { prefix: `${partnerAccount}/` }),
  ]);
  const counted = sumOf(row?.value as Counters | undefined, olderRow?.value as Counters | undefined);
  // A queue that counts what it accepts has listed it here.
  const isListed = counted.listed !== undefined;
  let sums = sumOf(counted, { listed: isListed ? 0 : listedBeside });
  // An unreadable row is reported where its feed is polled.
  for (const { counts, ...state } of readRows(feedRows, feedStateOf, () => undefined)) {
    if (!counts || state.generation !== generation) continue;
    const { repeated: coalesced, malformed: deadLettered } = counts;
    // Neither repeated nor malformed IDs reach the queue.
    const listed = isListed ? coalesced + deadLettered : counts.listed;
    sums = sumOf(sums, { listed, coalesced, deadLettered });
  }
  return booksOf(sums);
}
