import { describe, expect, it } from 'vitest';
import type { FeedStates, Lease } from '../../shared/ports/feed-states.ts';
import { feedState, progress } from '../helpers/records.ts';
import { type Cleaned, subjects } from './harness.ts';

export interface FeedStatesSubject extends Cleaned {
  readonly feedStates: FeedStates;
}

const now = Date.parse('2026-11-20T12:00:00Z');
const leaseMs = 90_000;
const key = { partnerAccount: 'main', feed: 'adverts' };

/** Conformance tests for every feed-state table. Tests pass in the time, so it needs no clock. */
export function feedStatesSuite(name: string, make: () => Promise<FeedStatesSubject>): void {
  describe(`${name}: feed states`, () => {
    const subject = subjects(make);

    async function registered(state = feedState()): Promise<FeedStates> {
      const { feedStates } = await subject();
      await feedStates.register(state);
      return feedStates;
    }

    it('gives no lease on a feed that it does not know', async () => {
      const { feedStates } = await subject();
      expect(await feedStates.acquire(key, 'a', now, leaseMs)).toBeUndefined();
    });

    it('gives the state with the lease', async () => {
      const feedStates = await registered();
      const lease = taken(await feedStates.acquire(key, 'a', now, leaseMs));
      expect(lease.state).toMatchObject(feedState());
      expect(lease.state.cursor).toBeUndefined();
      expect(lease.state.lastSuccess).toBeUndefined();
      expect(lease.state.fault).toBeUndefined();
    });

    it('says who holds a lease that has not run out', async () => {
      const feedStates = await registered();
      await feedStates.acquire(key, 'a', now, leaseMs);
      expect(await feedStates.acquire(key, 'b', now + leaseMs - 1, leaseMs)).toEqual({
        heldBy: 'a',
        untilMs: now + leaseMs,
      });
    });

    it('lets the same holder have no second lease beside its first', async () => {
      const feedStates = await registered();
      await feedStates.acquire(key, 'a', now, leaseMs);
      expect(await feedStates.acquire(key, 'a', now, leaseMs)).toMatchObject({ heldBy: 'a' });
    });

    it('gives a lease that has run out to the next, with a greater fence', async () => {
      const feedStates = await registered();
      const first = taken(await feedStates.acquire(key, 'a', now, leaseMs));
      const second = taken(await feedStates.acquire(key, 'b', now + leaseMs, leaseMs));
      expect(second.fence).toBe(first.fence + 1);
    });

    it('gives no lease on a feed that was polled since it was listed', async () => {
      const feedStates = await registered();
      const [never = {}] = await feedStates.list();
      const { fence } = taken(await feedStates.acquire(key, 'a', now, leaseMs, never));
      expect(await feedStates.acquire(key, 'b', now + 1, leaseMs, never)).toMatchObject({ heldBy: 'a' });
      await feedStates.release(key, fence, {}, now + 1);

      expect(await feedStates.acquire(key, 'b', now + 2, leaseMs, never)).toEqual({ polledAt: now });
      const [once = {}] = await feedStates.list();
      expect(taken(await feedStates.acquire(key, 'b', now + 2, leaseMs, once)).fence).toBe(fence + 1);
    });

    it('gives a turn back in which nothing was asked', async () => {
      const feedStates = await registered();
      const first = taken(await feedStates.acquire(key, 'a', now, leaseMs));
      await feedStates.release(key, first.fence, { unasked: { lastPolled: undefined } }, now + 1);
      expect((await feedStates.list())[0]?.lastPolled).toBeUndefined();

      const second = taken(await feedStates.acquire(key, 'a', now + 2, leaseMs));
      await feedStates.release(
        key,
        second.fence,
        { unasked: { lastPolled: now }, fault: 'not sent' },
        now + 3,
      );
      expect((await feedStates.list())[0]).toMatchObject({ lastPolled: now, fault: 'not sent' });
    });

    it('stores progress and renews the lease', async () => {
      const feedStates = await registered();
      const { fence } = taken(await feedStates.acquire(key, 'a', now, leaseMs));
      const page = progress({
        since: '2026-11-20T11:00:00Z',
        cursor: 'bmV4dA==',
        resets: 2,
        resetsInARow: 1,
      });

      expect(
        await feedStates.advance(key, fence, { ...page, lastSuccess: now - 5 }, now + 1000, leaseMs),
      ).toBe(true);

      expect(await feedStates.acquire(key, 'b', now + leaseMs, leaseMs)).toEqual({
        heldBy: 'a',
        untilMs: now + 1000 + leaseMs,
      });
      const [state] = await feedStates.list();
      expect(state).toMatchObject({
        since: '2026-11-20T11:00:00Z',
        cursor: 'bmV4dA==',
        resets: 2,
        resetsInARow: 1,
        lastSuccess: now - 5,
      });
    });

    it('keeps the last success when a page has none', async () => {
      const feedStates = await registered();
      const { fence } = taken(await feedStates.acquire(key, 'a', now, leaseMs));
      await feedStates.advance(key, fence, progress({ lastSuccess: now }), now, leaseMs);
      await feedStates.advance(key, fence, progress({ cursor: 'cursor-2' }), now, leaseMs);
      expect((await feedStates.list())[0]).toMatchObject({ cursor: 'cursor-2', lastSuccess: now });
    });

    it('keeps the mark of a resync until a page comes without it', async () => {
      const feedStates = await registered();
      const { fence } = taken(await feedStates.acquire(key, 'a', now, leaseMs));
      await feedStates.advance(key, fence, progress({ resyncing: true }), now, leaseMs);
      expect((await feedStates.list())[0]).toMatchObject({ resyncing: true });

      await feedStates.release(key, fence, { fault: 'down' }, now);
      const again = taken(await feedStates.acquire(key, 'a', now, leaseMs));
      expect(again.state).toMatchObject({ resyncing: true });

      await feedStates.advance(key, again.fence, progress({ cursor: 'cursor-2' }), now, leaseMs);
      expect((await feedStates.list())[0]?.resyncing).toBeUndefined();
    });

    it('refuses progress once the lease has run out, even when nobody has taken it', async () => {
      const feedStates = await registered();
      const { fence } = taken(await feedStates.acquire(key, 'a', now, leaseMs));
      expect(await feedStates.advance(key, fence, progress(), now + leaseMs, leaseMs)).toBe(false);
      expect((await feedStates.list())[0]?.cursor).toBeUndefined();
    });

    it('refuses progress of a holder that was replaced', async () => {
      const feedStates = await registered();
      const first = taken(await feedStates.acquire(key, 'a', now, leaseMs));
      const second = taken(await feedStates.acquire(key, 'b', now + leaseMs, leaseMs));
      // The late one's clock may even be behind.
      expect(await feedStates.advance(key, first.fence, progress({ cursor: 'late' }), now + 1, leaseMs)).toBe(
        false,
      );
      expect(await feedStates.advance(key, second.fence, progress(), now + leaseMs + 1, leaseMs)).toBe(true);
    });

    it('refuses progress for a feed that was forgotten', async () => {
      const feedStates = await registered();
      const { fence } = taken(await feedStates.acquire(key, 'a', now, leaseMs));
      await feedStates.remove('main');
      expect(await feedStates.advance(key, fence, progress(), now, leaseMs)).toBe(false);
      expect(await feedStates.list()).toEqual([]);
    });

    it('can be taken at once after a release, which says how the poll ended', async () => {
      const feedStates = await registered();
      const { fence } = taken(await feedStates.acquire(key, 'a', now, leaseMs));
      await feedStates.release(
        key,
        fence,
        {
          fault: 'the cursor stands still',
          faultKind: 'contract-broken',
          needsPerson: true,
          pausedUntil: now + 300_000,
        },
        now + 1,
      );
      const { state } = taken(await feedStates.acquire(key, 'b', now + 2, leaseMs));
      expect(state).toMatchObject({
        fault: 'the cursor stands still',
        faultKind: 'contract-broken',
        needsPerson: true,
        pausedUntil: now + 300_000,
      });
    });

    it('forgets the fault and the pause when a poll ended well', async () => {
      const feedStates = await registered();
      const first = taken(await feedStates.acquire(key, 'a', now, leaseMs));
      await feedStates.release(
        key,
        first.fence,
        { fault: 'no path', faultKind: 'wrong-path', needsPerson: true, pausedUntil: now + 1 },
        now,
      );
      const second = taken(await feedStates.acquire(key, 'a', now + 1, leaseMs));
      await feedStates.release(key, second.fence, {}, now + 2);
      const [state] = await feedStates.list();
      expect(state?.fault).toBeUndefined();
      expect(state?.faultKind).toBeUndefined();
      expect(state?.needsPerson).toBeUndefined();
      expect(state?.pausedUntil).toBeUndefined();
    });

    it('ends the lease, and what was wrong, with the last progress', async () => {
      const feedStates = await registered();
      const first = taken(await feedStates.acquire(key, 'a', now, leaseMs));
      await feedStates.release(key, first.fence, { fault: 'no answer', pausedUntil: now + 1 }, now);
      const { fence } = taken(await feedStates.acquire(key, 'a', now + 1, leaseMs));

      expect(await feedStates.advance(key, fence, progress({ cursor: 'last' }), now + 2, 'ended')).toBe(true);

      expect(await feedStates.advance(key, fence, progress({ cursor: 'late' }), now + 2, leaseMs)).toBe(
        false,
      );
      const { state } = taken(await feedStates.acquire(key, 'b', now + 2, leaseMs));
      expect(state.cursor).toBe('last');
      expect(state.fault).toBeUndefined();
      expect(state.pausedUntil).toBeUndefined();
    });

    it('ignores the release of a lease that is not held any more', async () => {
      const feedStates = await registered();
      const first = taken(await feedStates.acquire(key, 'a', now, leaseMs));
      await feedStates.acquire(key, 'b', now + leaseMs, leaseMs);
      await feedStates.release(key, first.fence, { fault: 'late' }, now + leaseMs + 1);
      expect(await feedStates.acquire(key, 'c', now + leaseMs + 2, leaseMs)).toMatchObject({ heldBy: 'b' });
      expect((await feedStates.list())[0]?.fault).toBeUndefined();
    });

    it('ignores a release after the lease has run out', async () => {
      const feedStates = await registered();
      const { fence } = taken(await feedStates.acquire(key, 'a', now, leaseMs));
      await feedStates.release(key, fence, { fault: 'late' }, now + leaseMs);
      expect((await feedStates.list())[0]?.fault).toBeUndefined();
    });

    it('keeps what is there when the same generation is registered again', async () => {
      const feedStates = await registered();
      const { fence } = taken(await feedStates.acquire(key, 'a', now, leaseMs));
      await feedStates.advance(key, fence, progress(), now, leaseMs);
      await feedStates.register(feedState({ since: '2026-12-01T00:00:00Z' }));
      expect((await feedStates.list())[0]).toMatchObject({ since: progress().since, cursor: 'cursor-1' });
      expect(await feedStates.advance(key, fence, progress(), now + 1, leaseMs)).toBe(true);
    });

    it('starts anew for a greater generation, and keeps the old poller out', async () => {
      const feedStates = await registered();
      const old = taken(await feedStates.acquire(key, 'a', now, leaseMs));
      await feedStates.advance(key, old.fence, progress({ lastSuccess: now }), now, leaseMs);
      const anew = feedState({ generation: feedState().generation + 1, since: '2026-12-01T00:00:00Z' });
      await feedStates.register(anew);

      expect(await feedStates.advance(key, old.fence, progress({ cursor: 'late' }), now + 1, leaseMs)).toBe(
        false,
      );
      const lease = taken(await feedStates.acquire(key, 'b', now + 2, leaseMs));
      expect(lease.state).toMatchObject({ generation: anew.generation, since: anew.since });
      expect(lease.state.cursor).toBeUndefined();
      expect(lease.state.lastSuccess).toBeUndefined();
      expect(await feedStates.advance(key, old.fence, progress({ cursor: 'late' }), now + 3, leaseMs)).toBe(
        false,
      );
    });

    it('keeps a poller of before out when a feed was forgotten and registered again', async () => {
      const feedStates = await registered();
      const old = taken(await feedStates.acquire(key, 'a', now, leaseMs));
      await feedStates.remove('main');
      await feedStates.register(feedState({ generation: feedState().generation + 1 }));
      await feedStates.acquire(key, 'b', now + 1, leaseMs);
      expect(await feedStates.advance(key, old.fence, progress({ cursor: 'late' }), now + 2, leaseMs)).toBe(
        false,
      );
    });

    it('lists the feed that has waited longest first', async () => {
      const { feedStates } = await subject();
      for (const partnerAccount of ['early', 'late', 'never'])
        await feedStates.register(feedState({ partnerAccount }));
      for (const [index, partnerAccount] of ['early', 'late'].entries()) {
        const at = now + index * 1000;
        const { fence } = taken(await feedStates.acquire({ ...key, partnerAccount }, 'a', at, leaseMs));
        await feedStates.release({ ...key, partnerAccount }, fence, {}, at + 1);
      }
      const names = (await feedStates.list()).map(({ partnerAccount }) => partnerAccount);
      expect(names).toEqual(['never', 'early', 'late']);
    });

    it('lists feeds that have waited as long in the order of their names', async () => {
      const { feedStates } = await subject();
      const names = ['b', 'c', 'a'];
      for (const partnerAccount of names) await feedStates.register(feedState({ partnerAccount }));
      const listed = async () => (await feedStates.list()).map(({ partnerAccount }) => partnerAccount);
      expect(await listed()).toEqual(['a', 'b', 'c']);
      for (const partnerAccount of names)
        await feedStates.acquire({ ...key, partnerAccount }, 'a', now, leaseMs);
      expect(await listed()).toEqual(['a', 'b', 'c']);
    });

    it('keeps the feeds of one partner account apart, and forgets them together', async () => {
      const feedStates = await registered();
      await feedStates.register(feedState({ feed: 'another' }));
      await feedStates.register(feedState({ partnerAccount: 'main2' }));
      await feedStates.acquire(key, 'a', now, leaseMs);
      taken(await feedStates.acquire({ ...key, feed: 'another' }, 'b', now, leaseMs));
      await feedStates.remove('main');
      expect((await feedStates.list()).map(({ partnerAccount }) => partnerAccount)).toEqual(['main2']);
    });

    it('gives the lease to one of many that ask at once', async () => {
      const feedStates = await registered();
      const asked = ['a', 'b', 'c', 'd'].map((holder) => feedStates.acquire(key, holder, now, leaseMs));
      const leases = (await Promise.all(asked)).filter((lease) => lease && 'fence' in lease);
      expect(leases).toHaveLength(1);
    });
  });
}

type Taken = Extract<Lease, { fence: number }>;

function taken(lease: Lease | undefined): Taken {
  if (!lease || !('fence' in lease)) throw new Error('the lease was not given');
  return lease;
}
