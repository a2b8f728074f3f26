import { expect, it } from 'vitest';
import { backfill } from '../../../operations/walk.ts';
import type { ChangedAdvert } from '../../../shared/contract/messages.ts';
import { newEtag } from '../../../shared/ports/store.ts';
import type {
  AdvertSource,
  BackfillProgress,
  Progresses,
  StoredProgress,
} from '../../../shared/state/progress.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';

it('a backfill that another process continues is continued by one of the two, to its end', async () => {
  let stored: StoredProgress<BackfillProgress> | undefined;
  const backfills: Progresses<BackfillProgress> = {
    list: async () => [],
    read: async () => stored,
    async write(_key, value, expected) {
      if (stored?.etag !== expected?.etag) return undefined;
      stored = { value, counted: 0, etag: newEtag() };
      return stored;
    },
  };
  const pages = 4;
  const began: (() => void)[] = [];
  /** The first process waits at its second page until the other one waits at its own. */
  const sourceOf = (before: (position: number) => Promise<void>): AdvertSource => ({
    name: 'list',
    async page(position) {
      await before(position);
      return position < pages ? { data: [String(1000 + position)], next: position + 1 } : undefined;
    },
  });
  const sent: ChangedAdvert[] = [];
  let ids = 0;
  const run = (source: AdvertSource) =>
    backfill(
      {
        backfills,
        clock: createManualClock(),
        isDelivering: () => true,
        queue: {
          depth: async () => 0,
          send: async (messages: readonly ChangedAdvert[]) => {
            sent.push(...messages);
            return new Set<string>();
          },
        } as never,
        deadLetters: {} as never,
        newId: () => {
          ids += 1;
          return `id-${ids}`;
        },
      },
      { partnerAccount: 'main', generation: 7 },
      source,
      { signal: new AbortController().signal },
    );
  const secondWaits = new Promise<void>((resolve) => began.push(resolve));
  const firstIsDone = Promise.withResolvers<void>();
  const firstWaits = Promise.withResolvers<void>();

  const first = run(
    sourceOf(async (position) => {
      if (position !== 1) return;
      firstWaits.resolve();
      await secondWaits;
    }),
  ).finally(firstIsDone.resolve);
  await firstWaits.promise;
  let isFirstPage = true;
  const second = run(
    sourceOf(async () => {
      if (!isFirstPage) return;
      isFirstPage = false;
      began[0]?.();
      await firstIsDone.promise;
    }),
  );

  const ends = [(await first).end, (await second).end];
  expect(ends).toContain('done');
  expect(stored?.value).toMatchObject({ state: 'done', position: pages });
});
