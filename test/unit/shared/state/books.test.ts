import { beforeEach, expect, it } from 'vitest';
import {
  bookKeeperOf,
  booksKey,
  type Counts,
  countInBooks,
  inFlightIn,
  olderBooksKey,
  readBooks,
} from '../../../../shared/state/books.ts';
import { createFeedStates } from '../../../../shared/state/feed-states.ts';
import { createProgress } from '../../../../shared/state/progress.ts';
import { createInMemoryStore } from '../../../fakes/store.ts';
import { feedState, progress } from '../../../helpers/records.ts';

const of = { partnerAccount: 'main', generation: 7 };
let store: ReturnType<typeof createInMemoryStore>;
beforeEach(() => {
  store = createInMemoryStore();
});

const add = (...all: Counts[]) =>
  countInBooks(
    store,
    all.map((counts) => [of, counts]),
  );
const read = (generation = 7) => readBooks(store, 'main', generation);

it.each([
  ['the pages', {}, 23],
  // Of the page, its malformed and repeated IDs never reach the queue.
  ['the queue', { listed: 19 }, 23],
])('books add up outcomes and what is listed, as %s counted it', async (_by, counted, listed) => {
  await store.add(booksKey('main', 7), counted);
  const feedStates = createFeedStates(store);
  await feedStates.register(feedState(of));
  const lease = await feedStates.acquire(
    { ...of, feed: 'adverts' },
    { holder: 'a', nowMs: 1, leaseMs: 1_000 },
  );
  if (!lease || !('etag' in lease)) throw new Error('no lease');
  const page = progress({ counts: { listed: 23, malformed: 1, repeated: 3 } });
  await feedStates.advance(lease, page, { nowMs: 2, leaseMs: 1_000 });
  await add(
    { events: 8, coalesced: 1 },
    { events: 1, unavailable: 2, deadLettered: 1, unchanged: 4, redelivered: 2 },
  );

  expect(await read()).toEqual({
    ...{ listed, events: 9, unchanged: 4, coalesced: 4, unavailable: 2, deadLettered: 2 },
    ...{ inFlight: 2, redelivered: 2 },
  });
  expect(await read(8)).toMatchObject({ listed: 0, events: 0, inFlight: 0 });
});

it('books contain what backfills and audits have listed', async () => {
  await store.put({ kind: 'feed', name: 'main/adverts' }, { since: 7 }, 'absent');
  for (const kind of ['backfill', 'audit'] as const)
    await createProgress(store, kind).change(of, 50, () => ({}));
  await add({ events: 60, unchanged: 30 });

  expect(await read()).toMatchObject({ listed: 100, events: 60, inFlight: 10 });
});

it('books have nothing in flight when outcomes exceed listed IDs', async () => {
  await add({ listed: 1, events: 3 });
  expect(await read()).toMatchObject({ listed: 1, events: 3, inFlight: 0 });
});

it('books are not written when there is nothing to add', async () => {
  await add({ deadLettered: 0 });
  expect(await store.get(booksKey('main', 7))).toBeUndefined();
});

it('books of an outcome are one addition for each generation', async () => {
  const adds: unknown[] = [];
  const add = async (...added: unknown[]) => void adds.push(added);
  await countInBooks({ add }, [
    [of, { events: 1 }],
    [{ ...of, generation: 8 }, { deadLettered: -1 }],
    [of, { events: 2, redelivered: 1, unchanged: 0 }],
    [{ ...of, partnerAccount: 'other' }, { events: 0 }],
    [{ ...of, partnerAccount: 'third' }, { events: 1 }],
    [{ ...of, partnerAccount: 'third' }, { events: -1 }],
  ]);

  const keyOf = (generation: number) => ({ kind: 'books', name: `main/${generation}/sums` });
  expect(adds).toEqual([
    [keyOf(7), { redelivered: 1, events: 3, unchanged: 0 }],
    [keyOf(8), { redelivered: 0, deadLettered: -1 }],
  ]);
});

it('books contain the sums that an older release has counted', async () => {
  await store.put(olderBooksKey('main', 7), { listed: 5, events: 2, redelivered: 1 }, 'absent');
  await add({ listed: 2, events: 1 });
  expect(olderBooksKey('main', 7)).toEqual({ kind: 'books', name: 'main/7' });
  expect(await read()).toMatchObject({ listed: 7, events: 3, redelivered: 1, inFlight: 4 });
});

it('books that the queue counts do not count again what operations listed', async () => {
  await createProgress(store, 'backfill').change(of, 50, () => ({}));
  await add({ listed: 50, events: 10 });
  expect(await read()).toMatchObject({ listed: 50, inFlight: 40 });
});

it('books are of one account, whatever other names begin alike', async () => {
  for (const partnerAccount of ['main2', 'mai']) {
    await createFeedStates(store).register(feedState({ ...of, partnerAccount }));
    const name = `${partnerAccount}/adverts`;
    const { value } = store.find({ kind: 'feed', name }) ?? {};
    const counts = { listed: 9, malformed: 1, repeated: 1 };
    store.putWithin({ kind: 'feed', name }, { ...(value as object), counts });
    await countInBooks(store, [[{ ...of, partnerAccount }, { events: 3 }]]);
  }
  expect(await read()).toMatchObject({ listed: 0, events: 0, coalesced: 0, deadLettered: 0 });
  expect(await readBooks(store, 'main2', 7)).toMatchObject({ listed: 9, events: 3, inFlight: 4 });
});

it('books are what each world’s queue says beside its own figures', async () => {
  await add({ listed: 3, events: 1 });
  const figures = { waiting: 2, deadLetters: 0 };
  const keeper = bookKeeperOf(store, async () => figures);
  expect(await keeper.read('main', 7)).toMatchObject({ listed: 3, inFlight: 2 });
  expect(await keeper.queue()).toBe(figures);
});

it.each([
  [{ listed: 9, events: 1, unchanged: 1, coalesced: 1, unavailable: 1, deadLettered: 1 }, 4],
  [{ listed: 1, events: 2 }, 0],
  [{}, 0],
])('in flight is what was listed and has no outcome: %j, %i', (counted, inFlight) => {
  expect(inFlightIn(counted)).toBe(inFlight);
});
