import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createDrain } from '../../../functions/drain/drain.ts';
import { idsOf } from '../../../functions/drain/read-page.ts';
import { BridgeFault } from '../../../shared/domain/faults.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import { pageIn } from '../../../shared/partner-api/answers.ts';
import { createCaller, getPolicy } from '../../../shared/partner-api/call.ts';
import { createOpenRateLimiter, sleepless } from '../../helpers/partner-api/fixtures.ts';
import { createWorld } from '../../helpers/world.ts';
import { errorOf, nearlyRightJson, oddValue } from './nearly-right.ts';

const token = new Secret('of-the-request');

const what = 'GET /feed';
const right = { data: ['1', '22', '333'], hasMore: false, nextCursor: 'next' };

/** Reads a page as the client does, from a transport that always answers `body`. */
async function readFrom(body: string) {
  let sent = 0;
  const call = createCaller({
    transport: {
      async send() {
        sent += 1;
        return { status: 200, body, head: { headers: {} } };
      },
      close: () => undefined,
    },
    rateLimiter: createOpenRateLimiter(),
    holds: { admit: () => undefined, answered: () => undefined, isFailing: () => false },
    clock: { ...sleepless, now: () => 0 },
    random: () => 0,
    concurrency: 1,
    attemptTimeoutMs: 1_000,
    maxPauseMs: 1_000,
  });
  const request = {
    wire: () => ({ method: 'GET', path: '/feed', headers: [] }) as const,
    resource: 'feed',
    what,
    endpoint: 'api',
    deadlineMs: 60_000,
  } as const;
  const page = await call(request, getPolicy, (answer) => pageIn(answer, { what, token }, 1_000)).catch(
    (error: unknown) => error,
  );
  return { page, sent };
}

/** A world whose feed answers `body` to every request. */
async function drained(body: string) {
  const world = await createWorld();
  let reads = 0;
  const reader = {
    async readPage() {
      reads += 1;
      const answer = { status: 200, body, head: { headers: {} } };
      const receivedAt = world.clock.now();
      return { page: pageIn(answer, { what, token }, 1_000), receivedAt, serviceTime: receivedAt };
    },
  };
  const report = await createDrain({ ...world.drainDeps, reader }).round(world.options());
  const batch = await world.state.queue.receive({ maxGroups: 1000, maxPerGroup: 10, visibilityMs: 1000 });
  return { world, reads, poll: report.polls[0], queued: batch.map(({ message }) => message?.advertId) };
}

describe('a page of the feed, nearly right', () => {
  it('is read, or is a fault that names the request, after as many attempts as the policy has', async () => {
    await fc.assert(
      fc.asyncProperty(nearlyRightJson(right), async (body) => {
        const { page, sent } = await readFrom(body);

        if (page instanceof BridgeFault) {
          expect(['transient', 'contract-broken']).toContain(page.code);
          expect(page.message).toContain(what);
          expect(page.message.length).toBeLessThan(1_000);
        } else {
          expect(page).toMatchObject({ data: expect.any(Array), nextCursor: expect.any(String) });
        }
        expect(sent).toBeLessThanOrEqual(getPolicy.maxAttempts);
      }),
      { numRuns: 300 },
    );
  });

  it('is refused as a whole, or each of its entries is queued or dead-lettered', async () => {
    await fc.assert(
      fc.asyncProperty(nearlyRightJson(right), async (body) => {
        const { world, poll, queued } = await drained(body);

        const { deadLettered, coalesced, inFlight, listed } = await world.books();
        if (poll?.pages === 0) {
          expect(poll).toMatchObject({ end: 'fault', fault: { name: 'BridgeFault' } });
          expect((await world.feed())?.cursor).toBeUndefined();
          expect(listed).toBe(0);
        } else {
          const { data } = JSON.parse(body.replace(/^\ufeff/, '')) as { data: unknown[] };
          expect(listed % data.length || 0).toBe(0);
          expect(listed).toBe(deadLettered + coalesced + inFlight);
          expect(new Set(queued)).toEqual(new Set(idsOf(data).ids));
        }
      }),
      { numRuns: 150 },
    );
  });

  it('loses no entry, whatever stands between the IDs, and does not read for ever', async () => {
    const entries = fc.array(fc.oneof(oddValue, fc.nat().map(String)), { minLength: 1, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(entries, fc.boolean(), async (data, hasMore) => {
        const { world, reads, poll } = await drained(JSON.stringify({ data, hasMore, nextCursor: 'next' }));

        const books = await world.books();
        const letters = await world.state.deadLetters.list();
        expect(books.listed).toBe(data.length * (poll?.pages ?? 0));
        expect(books.listed).toBe(books.deadLettered + books.coalesced + books.inFlight);
        // The same page twice has one dead letter.
        const ids = letters.reduce((sum, { letter }) => sum + (letter.count ?? 1), 0);
        expect(ids * (poll?.pages ?? 0)).toBe(books.deadLettered);
        expect(letters.length).toBeLessThanOrEqual(1);
        for (const { letter } of letters) {
          expect(letter.advertId?.length).toBeLessThanOrEqual(256);
          expect(letter.reason.length).toBeLessThan(1_500);
        }
        // A cursor that does not move although there is more occurs once, and ends the poll.
        expect(reads).toBe(hasMore ? 2 : 1);
      }),
      { numRuns: 150 },
    );
  });

  // JSON.stringify exhausts the stack at a nesting of some thousands.
  it('dead-letters an entry nested ten thousand deep, and queues the others', async () => {
    const deep = '['.repeat(10_000) + ']'.repeat(10_000);

    const { poll, queued } = await drained(`{"data":["1",${deep},"2"],"hasMore":false,"nextCursor":"next"}`);

    expect(poll).toMatchObject({ end: 'up-to-date' });
    expect(queued).toEqual(['1', '2']);
  });

  it('is never a crash of the page reader', async () => {
    await fc.assert(
      fc.asyncProperty(nearlyRightJson(right), async (body) => {
        const error = await errorOf(() =>
          pageIn({ status: 200, body, head: { headers: {} } }, { what, token }, 1_000),
        );

        if (error !== undefined) expect(error).toBeInstanceOf(BridgeFault);
      }),
      { numRuns: 500 },
    );
  });
});
