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

it('a history is stored without its etag, and pending only while it is', async () => {
  const { store, histories } = make();
  const { etag: _complete, pending: _pending, ...stored } = complete;
  const written = await histories.write(key, complete);
  expect(store.findAll('history').map(({ value }) => value)).toEqual([stored]);
  await histories.write(key, { ...complete, pending: true, etag: written?.etag ?? '' });
  expect(store.findAll('history').map(({ value }) => value)).toEqual([{ ...stored, pending: true }]);
});

it.each<[string, object]>([
  ['a number below zero', { sequence: -1 }],
  ['half a number of tries', { tries: 1.5 }],
  ['no status at all', { status: undefined }],
  ['an empty status', { status: '' }],
  ['an empty event', { envelope: '' }],
  ['a newer form', { form: 2 }],
])('a history with %s is not read', async (_what, change) => {
  const { store, histories } = make();
  const { etag: _none, ...value } = { ...complete, ...change };
  await store.put({ kind: 'history', name: 'main/1763640000/123' }, value, 'absent');
  await expect(histories.read(key)).rejects.toThrow('history of advert main/1763640000/123');
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

it.each([
  [3, undefined],
  [2, 'main/1763640000/3'],
])('a page of %i adverts leads to the next one while more follow: %s', async (most, next) => {
  const { store, histories } = make();
  for (const advertId of ['1', '3', '5']) await histories.write({ ...key, advertId }, complete);
  const page = await histories.page(key, '', most);
  expect(page).toEqual({
    ...{ advertIds: ['1', '3', '5'].slice(0, most), envelopes: Array(most).fill(complete.envelope) },
    ...(next && { next }),
  });
  expect(await histories.page(key)).toMatchObject({ advertIds: ['1', '3', '5'] });
  expect(store.findAll('history')).toHaveLength(3);
});

it('published adverts are without rows that were edited, and other feeds', async () => {
  const { store, histories } = make();
  const put = (id: string, value: unknown) =>
    store.put({ kind: 'history', name: `main/1763640000/${id}` }, value, 'absent');
  await put('1', null);
  await put('2', { envelope: 7 });
  await put('vehicle-3', complete);
  await put('4', complete);
  expect(await histories.page(key)).toEqual({ advertIds: ['4'], envelopes: [complete.envelope] });
});
