import { beforeEach, expect, it, vi } from 'vitest';
import type { Store } from '../../../../shared/ports/store.ts';
import {
  createFeedStates,
  type FeedState,
  type FeedStates,
  type Lease,
  waitOf,
} from '../../../../shared/state/feed-states.ts';
import { createInMemoryStore } from '../../../fakes/store.ts';
import { feedProblem, feedState, progress } from '../../../helpers/records.ts';

const now = Date.parse('2026-11-20T12:00:00Z');
const leaseMs = 90_000;
const key = { partnerAccount: 'main', feed: 'adverts' };
const problem = feedProblem({ kind: 'wrong-path', reason: 'no path', needsAttention: true });

let store: Store;
let feedStates: FeedStates;
beforeEach(async () => {
  store = createInMemoryStore();
  feedStates = createFeedStates(store);
  await feedStates.register(feedState());
});

const ask = (
  holder: string,
  nowMs = now,
  more: { readonly of?: typeof key; readonly listed?: Pick<FeedState, 'lastPolled'> } = {},
) => feedStates.acquire(more.of ?? key, { holder, nowMs, leaseMs, listed: more.listed });

async function take(...args: Parameters<typeof ask>): Promise<Lease> {
  const lease = await ask(...args);
  if (!lease || !('etag' in lease)) throw new Error('the lease was not given');
  return lease;
}

const stored = async () => (await feedStates.list())[0];

it('a lease is given on a known feed that nobody holds, with its state', async () => {
  expect(await ask('a', now, { of: { ...key, feed: 'another' } })).toEqual({ end: 'unknown-feed' });
  const lease = { holder: 'a', until: now + leaseMs, forMs: leaseMs };
  expect((await take('a')).state).toEqual({ ...feedState(), lastPolled: now, lease });
  for (const holder of ['a', 'b'])
    expect(await ask(holder, now + leaseMs - 1)).toEqual({ end: 'held', by: 'a' });
});

it('a lease of before a clock was set back by hours is taken over', async () => {
  await take('a');
  await take('b', now - 5 * 3_600_000);
  expect((await stored())?.lease?.holder).toBe('b');
});

it.each([
  ['refused when the feed was read to its end', { lastSuccess: now - 1_000 }, {}, { end: 'just-polled' }],
  ['refused when the feed failed', {}, { problem }, { end: 'just-polled' }],
  ['given when the feed was read in part', { lastSuccess: now - 1_001 }, {}, { etag: expect.any(String) }],
  ['given when the feed was never read to its end', {}, {}, { etag: expect.any(String) }],
  [
    'refused when it was read in part and failed',
    { lastSuccess: now - 9e6 },
    { problem },
    { end: 'just-polled' },
  ],
])('a lease is %s since it was listed', async (_what, change, end, expected) => {
  const listed = (await stored()) ?? {};
  const lease = await take('a', now, { listed });
  const renewal = { nowMs: now, leaseMs };
  const advanced = await feedStates.advance(lease, progress(change), renewal);
  await feedStates.release(advanced ?? lease, end, now + 1);

  expect(await ask('b', now + 2, { listed })).toMatchObject(expected);
});

it('a page stores its progress, clears the problem and renews the lease', async () => {
  await feedStates.release(await take('a'), { problem }, now);
  const page = progress({ since: '2026-11-20T11:00:00Z', cursor: 'bmV4dA==', resets: 2, resetsInARow: 1 });

  const lease = await feedStates.advance(
    await take('a'),
    { ...page, lastSuccess: now - 5 },
    { nowMs: now + 1000, leaseMs },
  );

  const { counts: _counts, ...position } = page;
  const next = { holder: 'a', until: now + 1000 + leaseMs, forMs: leaseMs };
  expect(lease?.state).toMatchObject({ ...position, lastSuccess: now - 5, lease: next });
  expect(lease?.state).not.toHaveProperty('problem');
  expect(await stored()).toEqual(lease?.state);
});

it('a page adds its counts, keeps its last success and ends a resync', async () => {
  const counts = { listed: 16, malformed: 2, repeated: 4 };
  const renewal = { nowMs: now, leaseMs };
  const page = progress({ counts, lastSuccess: now, resyncing: true });
  const first = await feedStates.advance(await take('a'), page, renewal);
  await feedStates.release(first as Lease, { problem }, now);
  const again = await take('a');
  expect(again.state.resyncing).toBe(true);
  await feedStates.advance(again, progress({ counts, cursor: 'cursor-2' }), renewal);
  expect(await stored()).toMatchObject({ cursor: 'cursor-2', lastSuccess: now });
  expect((await stored())?.counts).toEqual({ listed: 32, malformed: 4, repeated: 8 });
  expect(await stored()).not.toHaveProperty('resyncing');
});

it('a page can end the lease, so that nothing more is written under it', async () => {
  const last = await feedStates.advance(await take('a'), progress({ cursor: 'last' }), {
    ...{ nowMs: now, leaseMs: 'ended' },
  });
  expect(await feedStates.advance(last as Lease, progress(), { nowMs: now, leaseMs })).toBeUndefined();
  await feedStates.release(last as Lease, { problem }, now);
  expect(await stored()).toMatchObject({ cursor: 'last' });
  expect(await stored()).not.toHaveProperty('problem');
  await take('b');
});

const losses: [string, (lease: Lease) => Promise<unknown>, number][] = [
  ['has run out', async () => {}, now + leaseMs],
  ['was freed and taken again', (lease) => feedStates.release(lease, {}, now).then(() => take('a')), now],
  ['was of an earlier generation', () => feedStates.register(feedState({ generation: 2e9 })), now],
  ['was of a feed that was forgotten', () => feedStates.remove('main'), now],
];

it.each(losses)('page and end of a poll are not stored when the lease %s', async (_, lose, nowMs) => {
  const lease = await take('a');
  await lose(lease);
  const before = await feedStates.list();
  expect(await feedStates.advance(lease, progress({ cursor: 'late' }), { nowMs, leaseMs })).toBeUndefined();
  await feedStates.release(lease, { problem }, nowMs);
  expect(await feedStates.list()).toEqual(before);
});

it('the end of a poll stores a problem, which the next end clears', async () => {
  await feedStates.release(await take('a'), { problem }, now);
  expect(await stored()).toEqual({ ...feedState(), lastPolled: now, problem });
  await feedStates.release(await take('a', now + 1), {}, now + 2);
  expect(await stored()).toEqual({ ...feedState(), lastPolled: now + 1 });
});

const { name, kind } = { kind: 'feed', name: 'main/adverts' } as const;
const fault = { fault: 'three cursors', faultKind: 'contract-broken', needsPerson: true };
const old = { ...feedState(), lastPolled: now, ...fault, pausedUntil: now + 300_000 };
const wait = { until: now + 300_000, forMs: 300_000, why: 'stuck' } as const;
const read = { kind: 'contract-broken', reason: 'three cursors', since: now, needsAttention: true, wait };

it('a fault of release 0.3.0 is read as a problem, then stored as one', async () => {
  await feedStates.remove('main');
  await store.put({ kind, name }, old, 'absent');
  expect(await stored()).toEqual({ ...feedState(), lastPolled: now, problem: read });

  await take('a', now + 1);

  expect((await store.get({ kind, name }))?.value).toMatchObject({ problem: read });
  expect((await store.get({ kind, name }))?.value).not.toHaveProperty('fault');
});

it('a fault of release 0.3.0 is newer than the problem beside it', async () => {
  await feedStates.remove('main');
  await store.put({ kind, name }, { ...old, problem }, 'absent');
  expect((await stored())?.problem).toEqual(read);
});

it('an unreadable row hides only the list of its own account', async () => {
  await store.put({ kind: 'feed', name: 'other/adverts' }, { since: 7 }, 'absent');
  expect(await feedStates.ofAccount('main')).toEqual([feedState()]);
  await expect(feedStates.ofAccount('other')).rejects.toThrow('state of feed other/adverts');
});

it('all feeds of one account are forgotten, and no other', async () => {
  await feedStates.register(feedState({ feed: 'another' }));
  await feedStates.register(feedState({ partnerAccount: 'main2' }));
  await feedStates.remove('main');
  expect((await feedStates.list()).map(({ partnerAccount }) => partnerAccount)).toEqual(['main2']);
});

it('feeds are listed by their last poll, those never polled first', async () => {
  for (const [name, lastPolled] of [
    ['late', 9],
    ['early', 0],
    ['between', 5],
  ] as const)
    await feedStates.register(feedState({ partnerAccount: name, lastPolled }));
  await store.put({ kind: 'feed', name: 'odd/adverts' }, { since: 7 }, 'absent');
  const onUnreadable = vi.fn();

  const listed = await feedStates.list(onUnreadable);

  expect(listed.map(({ partnerAccount }) => partnerAccount)).toEqual(['main', 'early', 'between', 'late']);
  expect(onUnreadable).toHaveBeenCalledTimes(1);
});

it('the feeds of one account are not those of a longer name', async () => {
  await feedStates.register(feedState({ partnerAccount: 'main2' }));

  expect(await feedStates.ofAccount('main')).toEqual([feedState()]);
});

it.each([
  ['an earlier generation', -1, true],
  ['the same generation', 0, true],
  ['a later generation', 1, false],
])('a feed keeps its state when it is registered for %s', async (_which, by, isKept) => {
  const generation = feedState().generation + by;
  await feedStates.register(feedState({ generation, since: 'other' }));

  expect(await stored()).toEqual(isKept ? feedState() : feedState({ generation, since: 'other' }));
});

it('a resync reads again from its beginning, whoever has the lease', async () => {
  const lease = await take('a');
  const next = await feedStates.advance(lease, progress({ resets: 2 }), { nowMs: now, leaseMs });
  const { cursor: _cursor, lease: _lease, ...before } = next?.state ?? {};

  const again = await feedStates.readAgain(key, ({ since }) => `from ${since}`);

  const since = `from ${feedState().since}`;
  expect(again).toEqual({ ...before, since, resyncing: true });
  expect(await stored()).toEqual(again);
  expect(await feedStates.readAgain({ ...key, feed: 'another' }, () => '')).toBeUndefined();
});

it.each<[string, object, object]>([
  ['all of its fields', {}, {}],
  ['no kind', { faultKind: undefined }, { kind: 'unknown' }],
  ['nobody needed', { needsPerson: undefined }, { needsAttention: undefined }],
  ['no wait', { pausedUntil: undefined }, { wait: undefined }],
  ['no poll', { lastPolled: undefined }, { since: 0, wait: { ...wait, forMs: wait.until } }],
])('a fault of release 0.3.0 is read with %s', async (_what, change, expected) => {
  await feedStates.remove('main');
  // As JSON has it, without what is undefined.
  await store.put({ kind, name }, { ...old, ...change }, 'absent');

  expect((await stored())?.problem).toEqual({ ...read, ...expected });
});

it.each([
  ['before its end', now + 1, true],
  ['not at its end', now, false],
  ['up to a minute beyond its length', now + 120_000, true],
  ['not if it ends later, because a clock was wrong', now + 120_001, false],
])('a wait is in force %s', (_when, until, isInForce) => {
  const own = { until, forMs: 60_000, why: 'asked' } as const;

  expect(waitOf(feedProblem({ wait: own }), now)).toEqual(isInForce ? own : undefined);
  expect(waitOf(feedProblem(), now)).toBeUndefined();
});

it('a feed that was registered anew since it was listed can be leased', async () => {
  expect(await ask('a', now, { listed: { lastPolled: now - 9 } })).toMatchObject({
    etag: expect.any(String),
  });
});
