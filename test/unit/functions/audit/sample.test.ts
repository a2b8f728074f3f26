import { describe, expect, it } from 'vitest';
import { audit } from '../../../../functions/audit/audit.ts';
import { sampleSource } from '../../../../functions/audit/sources.ts';
import { boundOf } from '../../../../operations/audit/verdict.ts';
import type { Clock } from '../../../../shared/domain/clock.ts';
import { createInMemoryAdvertHistories } from '../../../fakes/advert-histories.ts';
import { createInMemoryAudits } from '../../../fakes/audits.ts';

const key = { partnerAccount: 'main', generation: 1_763_640_000 };
const population = 2_000;
const ids = Array.from({ length: population }, (_, index) => String(10_000 + index));

/** Published adverts of a service in which nothing changes and every request is answered at once. */
async function createQuietWorld(isWrong: (index: number) => boolean) {
  const { published, ...histories } = createInMemoryAdvertHistories(population);
  for (const [index, advertId] of ids.entries()) {
    await histories.write(
      { ...key, feed: 'adverts', advertId },
      {
        ...{ sequence: 1, status: isWrong(index) ? 'wrong' : 'active', envelope: '{}', by: 'read:1' },
        ...{ pending: false, version: 1 },
      },
    );
  }
  let now = Date.parse('2026-11-20T12:00:00Z');
  const clock: Clock = {
    now: () => now,
    async sleep(ms) {
      now += ms;
    },
  };
  const page = { data: [], hasMore: false, nextCursor: 'cursor' };
  const feed = { ...key, feed: 'adverts', since: '2026-11-20T11:00:00Z', resets: 0, resetsInARow: 0 };

  return (seed: number, size: number) =>
    audit(
      {
        poll: {
          feedStates: { list: async () => [feed] },
          reader: { readPage: async () => ({ page, receivedAt: now, serviceTime: now }) },
          ...{ clock, newId: () => `audit-${seed}` },
          settings: { overlapSeconds: 300, maxRequestsPerSecond: 10 },
        },
        audits: createInMemoryAudits(),
        histories,
        adverts: { readAdvert: async () => ({ status: 'active', receivedAt: now }) },
        isSettled: async () => true,
        isDelivering: () => true,
      },
      key,
      sampleSource(published, key, size),
      { signal: new AbortController().signal },
    );
}

describe('the sample of an audit', () => {
  it('of 299 finds corruption of 1 % in at least 95 of 100 audits, whichever adverts they are', async () => {
    const run = await createQuietWorld((index) => index % 100 === 7);
    let found = 0;
    let bounded = 0;
    for (let seed = 1; seed <= 1_000; seed += 1) {
      const { progress } = await run(seed, 299);
      expect(progress.checked).toBe(299);
      if (progress.differing.length > 0) found += 1;
      if ((boundOf(progress)?.mostWrong ?? 0) >= 0.01) bounded += 1;
    }

    // 96.1 % are expected, because the sample is drawn without replacement; these seeds come to 95.6 %.
    expect(found).toBeGreaterThanOrEqual(950);
    // The bound covers the truth as often as it says.
    expect(bounded).toBeGreaterThanOrEqual(950);
  }, 300_000);

  it('takes each advert as often as any other', async () => {
    const run = await createQuietWorld((index) => index % 2 === 0);
    const times = new Map<string, number>();
    for (let seed = 1; seed <= 100; seed += 1) {
      const { progress } = await run(seed, 100);
      for (const { advertId } of progress.differing) times.set(advertId, (times.get(advertId) ?? 0) + 1);
    }

    // Each of the thousand wrong ones is expected five times: by chance hardly one in a hundred never, and none twenty times.
    expect(times.size).toBeGreaterThan(980);
    expect(Math.max(...times.values())).toBeLessThan(20);
    const sum = [...times.values()].reduce((total, count) => total + count, 0);
    expect(sum / 100).toBeGreaterThan(47);
    expect(sum / 100).toBeLessThan(53);
  }, 120_000);
});
