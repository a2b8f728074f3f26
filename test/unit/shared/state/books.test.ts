import { beforeEach, expect, it } from 'vitest';
import { booksKey, type Counts, countInBooks, readBooks } from '../../../../shared/state/books.ts';
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
