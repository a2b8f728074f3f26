import { expect, it } from 'vitest';
import { createProgress, listedByOperations } from '../../../shared/state/progress.ts';
import { createInMemoryStore } from '../../fakes/store.ts';

const key = { partnerAccount: 'main', generation: 7 };
const counting = { countsListed: true };

it('is stored over the progress that was read, and over no other', async () => {
  const backfills = createProgress<{ at: number }>(createInMemoryStore(), 'backfill', counting);
  expect(await backfills.read(key)).toBeUndefined();

  const first = await backfills.write(key, { at: 1 }, undefined, 100);
  expect(await backfills.write(key, { at: 9 }, undefined, 100)).toBeUndefined();
  const second = await backfills.write(key, { at: 2 }, first, 20);
  expect(await backfills.write(key, { at: 9 }, first, 100)).toBeUndefined();

  expect(await backfills.read(key)).toEqual(second);
  expect(second).toMatchObject({ value: { at: 2 }, counted: 120 });
  expect(await backfills.read({ ...key, generation: 8 })).toBeUndefined();
});

it('counts what all operations of the generation have listed, unless the queue does', async () => {
  const store = createInMemoryStore();
  for (const kind of ['backfill', 'audit'] as const) {
    const progress = createProgress(store, kind, counting);
    await progress.write(key, {}, undefined, 10);
    await progress.write({ ...key, generation: 8 }, {}, undefined, 1_000);
  }
  await createProgress(store, 'audit-share', { countsListed: false }).write(key, {}, undefined, 7);

  expect(await listedByOperations(store, key)).toBe(20);
});

it('is listed with that of all accounts and generations, without what cannot be read', async () => {
  const store = createInMemoryStore();
  const backfills = createProgress<{ at: number }>(store, 'backfill', counting);
  await backfills.write(key, { at: 1 }, undefined, 0);
  await backfills.write({ ...key, generation: 8 }, { at: 2 }, undefined, 0);
  await createProgress(store, 'audit', counting).write(key, {}, undefined, 0);
  await store.put({ kind: 'progress', name: 'other/7/backfill' }, 1, 'absent');

  expect(await backfills.list()).toEqual([
    { ...key, value: { at: 1 } },
    { ...key, generation: 8, value: { at: 2 } },
  ]);
});

it('is not read from a row that somebody edited, or that a newer bridge wrote', async () => {
  for (const value of [
    { value: 1, counted: 0 },
    { value: { form: 2 }, counted: 0 },
  ]) {
    const store = createInMemoryStore();
    await store.put({ kind: 'progress', name: 'main/7/audit' }, value, 'absent');
    await expect(createProgress(store, 'audit', counting).read(key)).rejects.toThrow('main/7/audit');
  }
});
