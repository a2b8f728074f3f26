import { expect, it } from 'vitest';
import { createProgress, listedByOperations } from '../../../../shared/state/progress.ts';
import { createInMemoryStore } from '../../../fakes/store.ts';

const key = { partnerAccount: 'main', generation: 7 };

it('progress counts each page, also of several processes at once', async () => {
  const store = createInMemoryStore();
  const backfills = createProgress<{ at: number }>(store, 'backfill');
  expect(await backfills.read(key)).toBeUndefined();
  const next = (before?: { at: number }) => ({ at: (before?.at ?? 0) + 1 });

  await Promise.all([100, 20, 3].map((listed) => backfills.change(key, listed, next)));

  expect(await backfills.change(key, 9, () => undefined)).toEqual(await backfills.read(key));
  expect(await backfills.read(key)).toEqual({ at: 3 });
  expect(await listedByOperations(store, key)).toBe(123);
  expect(await backfills.read({ ...key, generation: 8 })).toBeUndefined();
  expect(await listedByOperations(store, { ...key, generation: 8 })).toBe(0);
});

it('progress of all accounts is listed without what cannot be read', async () => {
  const store = createInMemoryStore();
  const backfills = createProgress<{ at: number }>(store, 'backfill');
  await backfills.change(key, 0, () => ({ at: 1 }));
  await createProgress(store, 'audit').change(key, 0, () => ({}));
  for (const [index, value] of [1, { value: 1, counted: 0 }, { value: { form: 2 }, counted: 0 }].entries())
    await store.put({ kind: 'progress', name: `other/${index}/backfill` }, value, 'absent');

  expect(await backfills.list()).toEqual([{ ...key, value: { at: 1 } }]);
  await expect(backfills.read({ ...key, partnerAccount: 'other', generation: 2 })).rejects.toThrow('other/2');
});
