import { beforeEach, describe, expect, it } from 'vitest';
import { createDrain, type DrainReport } from '../../../functions/drain/drain.ts';
import { createFanOut } from '../../../functions/fan-out/fan-out.ts';
import { PartnerError } from '../../../shared/domain/faults.ts';
import { CachedAccounts } from '../../../shared/partner-api/cached-rows.ts';
import type { AdvertReader, FeedReader } from '../../../shared/ports/readers.ts';
import { createInMemoryEvents } from '../../fakes/event-publisher.ts';
import { createInMemoryState } from '../../fakes/state.ts';
import { stopped } from '../../helpers/holds.ts';
import { createVirtualClock } from '../../helpers/partner-api/virtual-clock.ts';
import { createRecordingObserver } from '../../helpers/recording-observer.ts';
import { feedState, partnerAccount } from '../../helpers/records.ts';

const pageMs = 200;
const fetchMs = 100;
const names = (count: number) => Array.from({ length: count }, (_, index) => `user-${index + 100}`);

/** Feeds of many partner accounts, three pages of one advert each, over the in-memory ports and virtual time. */
async function createCrowd(accounts: readonly string[], pages = 3) {
  const clock = createVirtualClock();
  const state = createInMemoryState({ clock });
  const events = createInMemoryEvents();
  const observer = createRecordingObserver();
  /** When the last page of a feed was given, from the beginning. */
  const readTo = new Map<string, number>();
  const asked: string[] = [];
  const begun = clock.now();
  for (const name of accounts) {
    await state.partnerAccounts.add(partnerAccount({ name }));
    await state.feedStates.register(feedState({ partnerAccount: name }));
  }

  const sick = {
    hanging: new Set<string>(),
    failing: new Set<string>(),
  };
  async function serve(name: string, deadlineMs: number, tookMs: number): Promise<void> {
    if (sick.hanging.has(name)) {
      await clock.sleep(deadlineMs - clock.now());
      throw new PartnerError('transient', 'no answer in time');
    }
    await clock.sleep(tookMs);
    if (sick.failing.has(name)) throw new PartnerError('transient', 'answered 500', { status: 500 });
  }

  const reader: FeedReader & AdvertReader = {
    async readPage(name, { cursor = '0' }, { deadlineMs }) {
      asked.push(name);
      await serve(name, deadlineMs, pageMs);
      const next = Number(cursor) + 1;
      const hasMore = next < pages;
      if (!hasMore) readTo.set(name, clock.now() - begun);
      const now = clock.now();
      const data = next <= pages ? [String(next)] : [];
      return {
        page: { data, hasMore, nextCursor: String(Math.min(next, pages)) },
        receivedAt: now,
        serviceTime: now,
      };
    },
    async readAdvert(name, _advertId, { deadlineMs }) {
      await serve(name, deadlineMs, fetchMs);
      return { status: 'active', receivedAt: clock.now() };
    },
  };
  let ids = 0;
  const settings = {
    overlapSeconds: 300,
    leaseMs: 90_000,
    maxWaiting: 10_000,
    pollSeconds: 60,
    feedsAtOnce: 5,
  };
  const drainDeps = {
    accounts: state.partnerAccounts,
    feedStates: state.feedStates,
    reader,
    queue: state.queue,
    deadLetters: state.deadLetters,
    aside: state.aside,
    bridgePausedUntil: async () => 0,
    observer,
    clock,
    newId: () => `id${++ids}`,
    holder: 'drain-1',
    settings,
  };
  const drain = createDrain(drainDeps);
  const fanOut = createFanOut({
    accounts: new CachedAccounts(state.partnerAccounts, clock),
    histories: state.advertHistories,
    adverts: reader,
    events,
    bridgePausedUntil: async () => 0,
    observer,
    clock,
    random: () => 0.5,
    settings: {
      bridge: 'AdvertBridge',
      advertTries: 5,
      maxAgeMs: 86_400_000,
      confirmUnavailableSeconds: 30,
      fetchMs: 10_000,
    },
  });

  /** The result of `work`, with time passing until it ends. */
  async function whilePassing<T>(work: Promise<T>): Promise<T> {
    await clock.run();
    return work;
  }

  return {
    clock,
    state,
    sick,
    readTo,
    asked,
    drainDeps,
    round: (forMs = 57_000): Promise<DrainReport> =>
      whilePassing(drain.round({ deadlineMs: clock.now() + forMs })),
    whilePassing,
    /** Hands out batches of ten, side by side as Lambda does, until there is nothing to be had. */
    async deliver(): Promise<void> {
      const batch = () => state.queue.receive({ maxGroups: 10, maxPerGroup: 10, visibilityMs: 60_000 });
      const running: Promise<void>[] = [];
      for (let taken = await batch(); taken.length > 0; taken = await batch()) {
        const deadlineMs = clock.now() + 57_000;
        running.push(fanOut.handle(taken, { deadlineMs }).then((settled) => state.queue.settle(settled)));
      }
      await whilePassing(Promise.all(running));
    },
    eventsOf: (name: string) =>
      events.accepted.filter((text) => text.includes(`"partnerAccount":"${name}"`)).length,
  };
}

describe('twenty partner accounts, one revoked, one that hangs, one that answers 500 to everything', () => {
  const all = names(20);
  const [revoked = '', hanging = '', failing = '', ...well] = all;
  let crowd: Awaited<ReturnType<typeof createCrowd>>;

  beforeEach(async () => {
    crowd = await createCrowd(all);
    const stop = stopped('refresh-token-rejected');
    await crowd.state.partnerAccounts.change(revoked, () => partnerAccount({ name: revoked, ...stop }));
    crowd.sick.hanging.add(hanging);
    crowd.sick.failing.add(failing);
  });

  it('reads the others to their ends in the same round, as fast as four side by side can', async () => {
    const report = await crowd.round();

    expect(report.stopped).toEqual([revoked]);
    const ends = new Map(report.polls.map((poll) => [poll.partnerAccount, poll.end]));
    for (const name of well) expect(ends.get(name)).toBe('up-to-date');
    expect([ends.get(hanging), ends.get(failing)]).toEqual(['fault', 'fault']);
    expect(Math.max(...well.map((name) => crowd.readTo.get(name) ?? Number.NaN))).toBeLessThanOrEqual(
      Math.ceil((well.length + 1) / 4) * 3 * pageMs,
    );
    expect(crowd.asked).not.toContain(revoked);
  });

  it('delivers every change of the others after that round', async () => {
    await crowd.round();
    await crowd.deliver();

    for (const name of well) expect(crowd.eventsOf(name)).toBe(3);
    for (const name of well) {
      expect(await crowd.state.bookKeeper.read(name, 1_763_640_000)).toMatchObject({
        listed: 3,
        events: 3,
        inFlight: 0,
      });
    }
  });

  it('keeps the messages of the sick ones, and settles those that share a batch with them', async () => {
    crowd.sick.hanging.clear();
    crowd.sick.failing.clear();
    await crowd.round();
    crowd.sick.hanging.add(hanging);
    crowd.sick.failing.add(failing);

    const begun = crowd.clock.now();
    await crowd.deliver();

    for (const name of well) expect(crowd.eventsOf(name)).toBe(3);
    for (const name of [hanging, failing]) {
      expect(await crowd.state.bookKeeper.read(name, 1_763_640_000)).toMatchObject({
        listed: 3,
        inFlight: 3,
      });
    }
    // The deadline of one fetch, and not the function's, is what a hanging advert costs its batch.
    expect(crowd.clock.now() - begun).toBeLessThanOrEqual(10_000);
  });

  it('polls the others at their pace within a run, though one of them hangs', async () => {
    const settings = { ...crowd.drainDeps.settings, pollSeconds: 10 };
    const drain = createDrain({ ...crowd.drainDeps, settings });
    const begun = crowd.clock.now();

    await crowd.whilePassing(drain.run({ deadlineMs: begun + 57_000, nextRunMs: begun + 60_000 }));

    // Three pages in the first round, then one of each of the five rounds after it.
    expect(crowd.asked.filter((name) => name === well[0])).toHaveLength(3 + 5);
  });

  it('reads the others in the same round, though five of them hang', async () => {
    for (const name of all.slice(3, 8)) crowd.sick.hanging.add(name);

    const { polls } = await crowd.round();

    expect(polls.find(({ partnerAccount: name }) => name === all.at(-1))?.end).toBe('up-to-date');
  });
});

describe('many partner accounts', () => {
  it('are asked in the order of their waiting, the longest first', async () => {
    const crowd = await createCrowd(names(12), 1);
    const waited = names(12).toSorted((a, b) => Number(b.at(-1)) - Number(a.at(-1)) || (a < b ? -1 : 1));
    for (const name of waited) {
      const key = { partnerAccount: name, feed: 'adverts' };
      const lease = await crowd.state.feedStates.acquire(key, {
        holder: 'before',
        nowMs: crowd.clock.now(),
        leaseMs: 90_000,
      });
      if (!lease || !('etag' in lease)) throw new Error('no lease');
      await crowd.state.feedStates.release(lease, {}, crowd.clock.now());
      crowd.clock.advance(1_000);
    }

    await crowd.round();

    expect(crowd.asked).toEqual(waited);
  });

  it('are all read over successive rounds, two hundred of them, however short each round is', async () => {
    const all = names(200);
    const crowd = await createCrowd(all, 1);

    // Five at a time, and time for eight in a row.
    for (let round = 0; round < 5; round += 1) await crowd.round(8 * pageMs);

    expect([...crowd.readTo.keys()].toSorted()).toEqual(all);
    expect(crowd.asked).toHaveLength(200);
  });

  it('have turns alike, though five of them have a backlog without an end', async () => {
    const all = names(20);
    const crowd = await createCrowd(all, 1_000);

    for (let round = 0; round < 8; round += 1) await crowd.round(10 * pageMs);

    const turns = all.map((name) => crowd.asked.filter((one) => one === name).length);
    expect(Math.min(...turns)).toBe(Math.max(...turns));
  });
});
