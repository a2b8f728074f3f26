import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { ShapeError } from '../../../../shared/contract/checks.ts';
import { booksKey } from '../../../../shared/state/books.ts';
import {
  countOfRedriven,
  createDeadLetters,
  putRow,
  rowOfDeadLetter,
  rowOfRedriven,
} from '../../../../shared/state/dead-letters.ts';
import { createInMemoryStore } from '../../../fakes/store.ts';
import { changedAdvert, deadLetter, deadLetterOf } from '../../../helpers/records.ts';

const nameOf = (...given: Parameters<typeof deadLetter>) => rowOfDeadLetter(deadLetter(...given)).key.name;
const message = changedAdvert({ key: 'read:123', correlationId: 'read' });

it('a dead letter’s row is that of its message, whatever its fault', () => {
  const name = nameOf({ message, fault: 'forbidden', reason: 'a' });
  expect(name).toMatch(/^main\/[0-9a-f]{16}$/);
  expect(nameOf({ message, fault: 'transient', reason: 'b', at: '2026-11-21T12:00:00.000Z' })).toBe(name);
  expect(nameOf({ message: { ...message, key: 'read:124' } })).not.toBe(name);
  const value = deadLetterOf(message);
  expect(rowOfDeadLetter(value)).toEqual({ key: { kind: 'dead', name }, value });
});

it('dead letters without a message differ by advert, fault and reason', () => {
  const given = { message: null, advertId: '1', fault: 'x', reason: 'y' };
  const names = [{}, { advertId: '2' }, { fault: 'z' }, { reason: 'z' }, { partnerAccount: null }].map(
    (change) => nameOf({ ...given, ...change }),
  );
  expect(new Set(names).size).toBe(5);
  expect(nameOf({ ...given, at: '2026-11-21T12:00:00.000Z', receives: 9 })).toBe(names[0]);
  expect(names[4]).toMatch(/^-\//);
});

it('a redriven message has its own row aside, as one that has not failed', () => {
  const failed = { times: 3, waitedMs: 7 };
  const key = { kind: 'dead', name: 'main/1' } as const;
  expect(rowOfRedriven({ key, etag: 'e', message: { ...message, failed, believed: true } })).toEqual({
    key: { kind: 'aside', name: 'main/redriven:e' },
    value: { message: { ...message, redriven: true } },
  });
  expect(countOfRedriven({ message })).toEqual([message, { deadLettered: -1 }]);
});

it.each([
  ['aside', 'first', true],
  ['dead', 'second', false],
] as const)('a row of kind %s that is there already keeps the %s value', async (kind, kept, isSame) => {
  const store = createInMemoryStore();
  const key = { kind, name: 'main/1' };
  await putRow(store, { key, value: 'first' });
  const before = store.find(key);
  expect(before?.etag).toBe('write 1');
  await putRow(store, { key, value: 'second' });

  expect(store.find(key)?.value).toBe(kept);
  expect(store.find(key)?.etag === before?.etag).toBe(isSame);
});

async function three() {
  const store = createInMemoryStore();
  const deadLetters = createDeadLetters(store);
  const named = ['main', 'main', 'main2'].map((partnerAccount, index) =>
    deadLetter({ partnerAccount, reason: `${index}` }),
  );
  for (const one of named) await deadLetters.sendMalformed(one);
  return { store, deadLetters, named };
}
const sorted = (reasons: readonly { readonly reason: string }[]) =>
  reasons.map(({ reason }) => reason).sort();

it('dead letters are listed, all or of an account, or by ID', async () => {
  const { store, deadLetters, named } = await three();
  const all = await deadLetters.list();
  expect(sorted(all)).toEqual(['0', '1', '2']);
  expect(sorted(await deadLetters.list('main'))).toEqual(['0', '1']);
  const [first] = all;
  const { name } = rowOfDeadLetter(named.find(({ reason }) => reason === first?.reason) ?? deadLetter()).key;
  const key = { kind: 'dead', name } as const;
  expect(first).toMatchObject({ id: name, key, etag: store.find(key)?.etag });
  expect(await deadLetters.list(name)).toEqual([first]);
  expect([await deadLetters.count(), await deadLetters.count(2)]).toEqual([3, 2]);
});

it('a dead letter that cannot be read is reported, or fails the list', async () => {
  const { store, deadLetters } = await three();
  await store.put({ kind: 'dead', name: 'main/odd' }, { fault: 7 }, 'absent');
  const names: string[] = [];
  expect(await deadLetters.list('', (_issue, { name }) => names.push(name))).toHaveLength(3);
  expect(names).toEqual(['main/odd']);
  await expect(deadLetters.list()).rejects.toThrow(ShapeError);
});

it('a dead letter is put aside before it is removed, then counted', async () => {
  const memory = createInMemoryStore();
  const steps: string[] = [];
  const store = {
    ...memory,
    async put(...given: Parameters<typeof memory.put>) {
      await nextTurn();
      steps.push(`put ${given[0].kind}`);
      return memory.put(...given);
    },
    async remove(...given: Parameters<typeof memory.remove>) {
      await nextTurn();
      steps.push(`remove ${given[0].kind}`);
      return memory.remove(...given);
    },
    async add(...given: Parameters<typeof memory.add>) {
      await nextTurn();
      steps.push(`add ${given[0].name} ${JSON.stringify(given[1])}`);
      return memory.add(...given);
    },
  };
  const deadLetters = createDeadLetters(store);
  const messages = ['1', '2'].map((advertId) => changedAdvert({ advertId }));
  for (const one of messages) await putRow(memory, rowOfDeadLetter(deadLetterOf(one)));
  const given = (await deadLetters.list()).flatMap((one) =>
    one.message ? [{ ...one, message: one.message }] : [],
  );
  const [, second] = given;
  // Given up once more since it was listed.
  if (second) await putRow(memory, { key: second.key, value: deadLetterOf(second.message) });

  await deadLetters.redrive(given);

  const { name } = booksKey('main', changedAdvert().generation);
  const counted = `add ${name} {"redelivered":0,"deadLettered":-2}`;
  expect(steps).toEqual(['put aside', 'put aside', 'remove dead', 'remove dead', counted]);
  expect(memory.findAll('aside').map(({ value }) => value)).toEqual(
    expect.arrayContaining(messages.map((one) => ({ message: { ...one, redriven: true } }))),
  );
  expect((await deadLetters.list()).map(({ id }) => id)).toEqual([second?.id]);
});

it('dead letters are dropped unless they were stored again', async () => {
  const { store, deadLetters } = await three();
  const listed = await deadLetters.list();
  const [first] = listed;
  if (first) await store.put(first.key, deadLetter(), first.etag);
  await deadLetters.drop(listed);
  expect((await deadLetters.list()).map(({ id }) => id)).toEqual([first?.id]);
});
