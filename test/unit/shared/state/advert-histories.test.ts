import { expect, it } from 'vitest';
import { type AdvertRow, createAdvertHistories } from '../../../../shared/state/advert-histories.ts';
import { createInMemoryStore } from '../../../fakes/store.ts';

const key = { partnerAccount: 'main', generation: 1_763_640_000, feed: 'adverts', advertId: '123' } as const;

const first: AdvertRow = { sequence: 0, status: null, pending: true, etag: 'absent' };
const complete: AdvertRow = {
  sequence: 7,
  status: 'aktywne ✓',
  envelope: '{"detail":{"data":{"status":"aktywne ✓","previousStatus":null}}}',
  by: 'read-1:123',
  pending: false,
  tries: 2,
  missingSince: 1_763_640_000_000,
  etag: 'absent',
};

const make = () => {
  const store = createInMemoryStore();
  return { store, histories: createAdvertHistories(store) };
};

it.each([complete, first])('a history returns as it was written, with its etag', async (row) => {
  const { store, histories } = make();
  const written = await histories.write(key, row);
  const { etag } = (await store.get({ kind: 'history', name: 'main/1763640000/123' })) ?? {};
  expect(written).toEqual({ ...row, etag });
  expect(await histories.read(key)).toEqual(written);
});

it('a history is not written over a row that changed, exists or is gone', async () => {
  const { histories } = make();
  const before = (await histories.write(key, first)) ?? first;
  expect(await histories.write(key, complete)).toBeUndefined();
  await histories.write(key, { ...complete, etag: before.etag });
  expect(await histories.write(key, before)).toBeUndefined();
  await histories.remove('main', key.generation);
  expect(await histories.write(key, before)).toBeUndefined();
  expect(await histories.read(key)).toBeUndefined();
});

it('histories are forgotten for generations of one account up to one', async () => {
  const { histories } = make();
  const earlier = { ...key, generation: key.generation - 1 };
  const later = { ...key, generation: key.generation + 1 };
  const others = ['main2', 'main.x', 'main-', 'mai'].map((partnerAccount) => ({ ...key, partnerAccount }));
  for (const each of [key, earlier, later, ...others]) await histories.write(each, first);

  await histories.remove('main', key.generation);

  expect(await histories.read(key)).toBeUndefined();
  expect(await histories.read(earlier)).toBeUndefined();
  for (const other of [later, ...others])
    expect(await histories.read(other)).toMatchObject({ pending: true });
});

it('published adverts are those of the generation with an event, each once', async () => {
  const { histories } = make();
  for (const advertId of ['1', '3', '5'])
    await histories.write({ ...key, advertId }, { ...complete, envelope: advertId });
  await histories.write({ ...key, advertId: '2' }, first);
  for (const partnerAccount of ['main2', 'main.x', 'mai'])
    await histories.write({ ...key, partnerAccount }, complete);
  for (const generation of [key.generation - 1, key.generation + 1, key.generation * 10])
    await histories.write({ ...key, generation }, complete);

  const start = await histories.page(key, '', 2);
  expect(start).toMatchObject({ advertIds: ['1'], envelopes: ['1'], next: expect.any(String) });
  expect(await histories.page(key, start.next, 2)).toEqual({ advertIds: ['3', '5'], envelopes: ['3', '5'] });
});
