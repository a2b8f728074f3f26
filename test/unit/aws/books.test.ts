import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { createBookKeeper } from '../../../shared/aws/sqs.ts';
import { createStore } from '../../../shared/aws/store.ts';
import { createAside, createDeadLetters } from '../../../shared/state/aside.ts';
import { createBooksWriter } from '../../../shared/state/books.ts';
import { createFeedStates } from '../../../shared/state/feed-states.ts';
import { createProgress } from '../../../shared/state/progress.ts';
import { startDynamo, startSqs } from '../../helpers/aws/emulators.ts';
import { changedAdvert, heldMessage } from '../../helpers/records.ts';

const key = { partnerAccount: 'main', feed: 'adverts' };

describe('the books on DynamoDB', () => {
  let dynamo: Awaited<ReturnType<typeof startDynamo>>;
  let sqs: Awaited<ReturnType<typeof startSqs>>;
  beforeAll(async () => {
    [dynamo, sqs] = await Promise.all([startDynamo(), startSqs()]);
  });
  afterEach(() => vi.restoreAllMocks());
  afterAll(() => Promise.all([dynamo.stop(), sqs.stop()]));

  async function make() {
    const table = await dynamo.feedStateTable();
    const aside = createAside(createStore({ feedState: table }));
    const bookKeeper = createBookKeeper({
      store: createStore({ feedState: table }),
      aside,
      queue: sqs.createQueue(),
      deadLetters: createDeadLetters(createStore({ feedState: table })),
    });
    return {
      table,
      aside,
      bookKeeper,
      books: createBooksWriter(createStore({ feedState: table })),
      feedStates: createFeedStates(createStore({ feedState: table }), { countsListed: true }),
    };
  }

  it('balance: what is in flight is what was listed and has no outcome yet', async () => {
    const { bookKeeper, books, feedStates } = await make();
    await feedStates.register({ ...key, generation: 7, since: 's', resets: 0, resetsInARow: 0 });
    const lease = await feedStates.acquire(key, { holder: 'a', nowMs: 1, leaseMs: 1000 });
    if (!lease || !('etag' in lease)) throw new Error('no lease');
    const page = {
      since: 's',
      cursor: 'c',
      resets: 0,
      resetsInARow: 0,
      counts: { listed: 23, malformed: 1, repeated: 3 },
    };
    await feedStates.advance(lease, page, { nowMs: 2, leaseMs: 1000 });
    await books.add('main', 7, { events: 8, coalesced: 1 });
    await books.add('main', 7, { events: 1, unavailable: 2, deadLettered: 1, unchanged: 4, redelivered: 2 });

    expect(await bookKeeper.read('main', 7)).toEqual({
      listed: 23,
      events: 9,
      unchanged: 4,
      coalesced: 4,
      unavailable: 2,
      deadLettered: 2,
      inFlight: 2,
      redelivered: 2,
    });
    expect(await bookKeeper.read('main', 8)).toMatchObject({ listed: 0, events: 0, inFlight: 0 });
  });

  it('contain what backfills and audits have listed', async () => {
    const { table, bookKeeper, books } = await make();
    const store = createStore({ feedState: table });
    for (const kind of ['backfill', 'audit'] as const)
      await createProgress(store, kind, { countsListed: true }).write(
        { partnerAccount: 'main', generation: 7 },
        {},
        undefined,
        50,
      );
    await books.add('main', 7, { events: 60, unchanged: 30 });

    expect(await bookKeeper.read('main', 7)).toMatchObject({ listed: 100, events: 60, inFlight: 10 });
  });

  it('are not written where there is nothing to add', async () => {
    const { table, books } = await make();
    const sent = vi.spyOn(table.client, 'send');
    await books.add('main', 7, {});
    await books.add('main', 7, { deadLettered: 0 });
    expect(sent).not.toHaveBeenCalled();
    await books.add('main', 7, { deadLettered: 0, events: 1 });
    const row = await createStore({ feedState: table }).get({ kind: 'books', name: 'main/7' });
    expect(row?.value).toEqual({ events: 1, deadLettered: 0, redelivered: 0 });
  });

  it('count nothing at first', async () => {
    const { bookKeeper } = await make();
    expect(await bookKeeper.queue()).toEqual({ waiting: 0, deadLetters: 0 });
  });

  it('count the messages aside of every partner account as waiting', async () => {
    const { bookKeeper, aside } = await make();
    await aside.store(
      ['main', 'main', 'other'].map((partnerAccount, index) => {
        const message = changedAdvert({ partnerAccount, listedAt: `2026-11-20T12:0${index}:00.000Z` });
        return heldMessage(message, index);
      }),
    );

    expect(await bookKeeper.queue()).toEqual({
      ...{ waiting: 3, deadLetters: 0, oldestListedAt: '2026-11-20T12:00:00.000Z' },
    });
  });
});
