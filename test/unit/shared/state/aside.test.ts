import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { ShapeError } from '../../../../shared/contract/checks.ts';
import type { ChangedAdvert } from '../../../../shared/contract/messages.ts';
import type { Verdict } from '../../../../shared/ports/queue.ts';
import { createAside, isDue, rowAside } from '../../../../shared/state/aside.ts';
import { createDeadLetters, rowOfDeadLetter } from '../../../../shared/state/dead-letters.ts';
import { createInMemoryStore } from '../../../fakes/store.ts';
import { changedAdvert, deadLetterOf, settlement } from '../../../helpers/records.ts';

it('a dead letter that is stored again while it is being redriven stays', async () => {
  const store = createInMemoryStore();
  const message = changedAdvert();
  const { store: storeSettled } = createAside(store);
  const giveUp = () => {
    const delivery = { id: '1', message, position: '1:1', receives: 1, sentAt: 0 };
    return storeSettled([settlement(delivery, { kind: 'dead-letter', deadLetter: deadLetterOf(message) })]);
  };
  await giveUp();
  const deadLetters = createDeadLetters({
    ...store,
    // The drain puts the message back at once, and fan-out gives it up again.
    async remove(key, expected) {
      if (key.kind === 'dead') await giveUp();
      return store.remove(key, expected);
    },
  });

  const stored = await deadLetters.list();
  await deadLetters.redrive(stored.map((one) => ({ ...one, message })));

  expect(await deadLetters.list()).toMatchObject([{ message }]);
});

const nowMs = Date.parse('2026-11-20T12:00:00Z');
const at = (ms: number) => String(ms).padStart(15, '0');
const held = (change: Partial<ChangedAdvert> = {}, position = '7:1') => {
  const message = changedAdvert(change);
  return { id: '1', message, position, receives: 1, sentAt: 0 };
};
type Held = Verdict & { readonly kind: 'hold' };
const hold = (verdict: Omit<Held, 'kind'> = {}): Held => ({ kind: 'hold', ...verdict });
const wait = (dueMs: number, forMs: number) => ({ wait: { dueMs, forMs } });

it.each<[string, Partial<ChangedAdvert>, Held, string, object]>([
  ['on hold', {}, hold(), '7', {}],
  ['failed', {}, hold(wait(9, 4)), `t${at(9)}`, { failed: { times: 1, waitedMs: 4 } }],
  [
    ...(['failed again', { failed: { times: 2, waitedMs: 3 } }, hold(wait(9, 4)), `t${at(9)}`] as const),
    { failed: { times: 3, waitedMs: 7 } },
  ],
  [
    ...(['failed alike', { failed: { times: 2, waitedMs: 3 } }, hold({ failedAt: 0 }), `w${at(0)}`] as const),
    { failed: { times: 3, waitedMs: 3 } },
  ],
  [
    ...(['failed alike, and waits', {}, hold({ failedAt: 5, ...wait(9, 4) }), `w${at(9)}`] as const),
    { failed: { times: 1, waitedMs: 0 } },
  ],
])('a message aside that is %s has a name that sorts it', (_what, change, verdict, begin, more) => {
  const delivery = held(change);
  const { message } = delivery;

  expect(rowAside({ delivery, verdict })).toEqual({
    key: { kind: 'aside', name: `main/${begin}:${message.key}` },
    value: { message: { ...message, ...more }, ...(verdict.wait && { wait: verdict.wait }) },
  });
});

it('only messages on hold and dead letters have a row aside', () => {
  const delivery = held();
  const { message: _none, ...unread } = delivery;
  const verdicts: Verdict[] = [
    { kind: 'done', outcome: 'events' },
    { kind: 'retry', delayMs: 0 },
    { kind: 'forgotten' },
  ];
  for (const verdict of verdicts) expect(rowAside({ delivery, verdict })).toBeUndefined();
  expect(rowAside({ delivery: unread, verdict: hold() })).toBeUndefined();
  const value = deadLetterOf(delivery.message);
  expect(rowAside({ delivery, verdict: { kind: 'dead-letter', deadLetter: value } })).toEqual(
    rowOfDeadLetter(value),
  );
});

it.each([
  ['has no wait', undefined, true],
  ['is due now', { dueMs: nowMs, forMs: 5 }, true],
  ['is due in a moment', { dueMs: nowMs + 1, forMs: 0 }, false],
  ['is due a minute after its wait', { dueMs: nowMs + 65_000, forMs: 5_000 }, false],
  ['is due later than that', { dueMs: nowMs + 65_001, forMs: 5_000 }, true],
])('a message aside that %s comes back: %o, %s', (_what, waits, expected) => {
  expect(isDue(waits ? { wait: waits } : {}, nowMs)).toBe(expected);
});

it('messages that cannot be put aside stay in the queue, each by itself', async () => {
  const memory = createInMemoryStore();
  const error = new Error('throttled');
  const put: typeof memory.put = async (key, ...rest) => {
    await nextTurn();
    if (key.name.includes('bad')) throw error;
    return memory.put(key, ...rest);
  };
  const { message: _none, ...unread } = held();
  const [bad, good, none] = [
    settlement(held({ key: 'bad:1' }), hold()),
    settlement(held(), hold()),
    settlement(unread, hold()),
  ];
  const others = [
    settlement(held(), { kind: 'retry', delayMs: 0 }),
    settlement(unread, { kind: 'forgotten' }),
  ];
  const refused = await createAside({ ...memory, put }).store([bad, good, none, ...others]);

  expect([...refused]).toEqual(
    expect.arrayContaining([
      [bad, error],
      [none, expect.any(String)],
    ]),
  );
  expect(refused.size).toBe(2);
  expect(memory.findAll('aside').map(({ value }) => value)).toEqual([{ message: good.delivery.message }]);
});

/** Messages aside, each under its own letter as its advert's page. */
async function asideOf(letters: Record<string, readonly [Held, Partial<ChangedAdvert>?, string?]>) {
  const store = createInMemoryStore();
  const aside = createAside(store);
  for (const [letter, [verdict, change, position]] of Object.entries(letters)) {
    const delivery = held({ correlationId: letter, ...change }, position);
    await aside.store([settlement(delivery, verdict)]);
  }
  return { store, aside };
}
const lettersOf = (messages: readonly { readonly message: ChangedAdvert }[]) =>
  messages.map(({ message }) => message.correlationId).join('');
const quarterMs = 900_000;

it('messages aside come back in their order when nothing keeps them', async () => {
  const { aside, store } = await asideOf({
    e: [hold({ failedAt: 2 })],
    d: [hold({ failedAt: 1 })],
    x: [hold(wait(nowMs + 1, quarterMs))],
    y: [hold(wait(nowMs + quarterMs, quarterMs))],
    z: [hold(wait(nowMs + 2 * quarterMs, 2 * quarterMs))],
    c: [hold(wait(nowMs, 5))],
    b: [hold(wait(nowMs - 1, 5))],
    k: [hold(wait(nowMs + 4 * quarterMs, 5))],
    a: [hold(), {}, '2'],
    _: [hold(), {}, '1'],
    w: [hold({ failedAt: 3, ...wait(nowMs + 1, 5) })],
  });
  const other = held({ partnerAccount: 'main2', correlationId: 'n' });
  await aside.store([settlement(other, hold())]);

  const due = (most: number) => aside.due('main', { nowMs, most });
  expect(lettersOf(await due(100))).toBe('_abckde');
  expect(lettersOf(await due(3))).toBe('_ab');
  // One with a long wait takes nobody's place.
  expect(lettersOf(await due(5))).toBe('_abck');
  expect(lettersOf(await aside.due('main2', { nowMs, most: 100 }))).toBe('n');
  const [first] = await due(1);
  if (!first) return expect.fail('nothing is due');
  const { etag } = store.find(first.key) ?? {};
  expect(first).toMatchObject({ key: { kind: 'aside', name: 'main/1:_:123' }, etag });
});

it.each<[string, Held]>([
  ['failed alone', hold(wait(nowMs + 2 * quarterMs, 2 * quarterMs))],
  ['failed alike', hold({ failedAt: 1, ...wait(nowMs + 2 * quarterMs, 2 * quarterMs) })],
])('many long waits of what %s keep nothing else aside', async (_what, verdict) => {
  const long = Array.from({ length: 150 }, (_, index) => [`x${index}`, [verdict]] as const);
  const { aside } = await asideOf({ ...Object.fromEntries(long), a: [hold({ failedAt: 2 })] });

  expect(lettersOf(await aside.due('main', { nowMs, most: 1 }))).toBe('a');
});

it('messages with a long wait are counted, not those of a wrong clock', async () => {
  const { aside } = await asideOf({
    a: [hold()],
    b: [hold(wait(nowMs, quarterMs))],
    c: [hold(wait(nowMs + quarterMs, quarterMs))],
    d: [hold(wait(nowMs + quarterMs + 1, quarterMs + 1))],
    e: [hold(wait(nowMs + 20 * quarterMs, 20 * quarterMs))],
    f: [hold(wait(nowMs + 20 * quarterMs, quarterMs))],
    g: [hold({ failedAt: 0, ...wait(nowMs + 2 * quarterMs, 2 * quarterMs) })],
  });
  expect([await aside.countLater('main', nowMs), await aside.count('main')]).toEqual([2, 7]);
});

it('messages that failed are read by themselves, the next one first', async () => {
  const { aside } = await asideOf({
    a: [hold()],
    b: [hold(), { redriven: true }],
    c: [hold(wait(nowMs + 2, 5))],
    d: [hold(wait(nowMs + 1, 5))],
    e: [hold({ failedAt: 1 })],
  });
  expect(lettersOf(await aside.failed('main', 10))).toBe('dce');
  expect(lettersOf(await aside.failed('main', 2))).toBe('dc');
});

it('messages of an advert that failed come back for a last try', async () => {
  const { store, aside } = await asideOf({
    a: [hold(), { advertId: '7' }],
    b: [hold(wait(nowMs + 2, 5)), { advertId: '7' }],
    c: [hold({ failedAt: 1 }), { advertId: '7', failed: { times: 2, waitedMs: 3 } }],
    d: [hold(wait(nowMs + 1, 5)), { advertId: '77' }],
  });

  const failed = await aside.failed('main');
  await aside.believe(failed.filter(({ message }) => message.advertId === '7'));

  const due = await aside.due('main', { nowMs, most: 10 });
  expect(lettersOf(due)).toMatch(/^a(bc|cb)$/);
  const believed = due.map(({ message }) => [message.correlationId, message.believed, message.failed?.times]);
  expect(new Set(believed)).toEqual(
    new Set([
      ['a', undefined, undefined],
      ['b', true, 1],
      ['c', true, 3],
    ]),
  );
  expect(lettersOf(await aside.failed('main'))).toBe('d');
  expect((await store.list('aside', {})).length).toBe(4);
});

it.each([
  [100, 1],
  [101, 0],
])('a message behind %i unreadable rows comes back: %i', async (unreadable, found) => {
  const { store, aside } = await asideOf({ a: [hold(), {}, '2'] });
  for (let row = 0; row < unreadable; row += 1)
    await store.put({ kind: 'aside', name: `main/1:${at(row)}` }, null, 'absent');
  const issues: unknown[] = [];
  const most = { nowMs, most: 1 };

  expect(await aside.due('main', most, (issue, { name }) => issues.push([issue.message, name]))).toHaveLength(
    found,
  );
  expect(issues).toHaveLength(unreadable);
  expect(issues[0]).toEqual([expect.stringContaining(`main/1:${at(0)}`), `main/1:${at(0)}`]);
  await expect(aside.list('main')).rejects.toThrow(ShapeError);
});

it('messages aside are counted by account, without notes', async () => {
  const { store, aside } = await asideOf({ a: [hold()], b: [hold(), { partnerAccount: 'other' }] });
  const deadLetters = createDeadLetters(store);
  await deadLetters.note('n1', { by: 'me' });
  expect(await aside.accounts()).toEqual(['-', 'main', 'other']);
  expect(await aside.figures()).toEqual({ waiting: 2, oldestListedAt: '2026-11-20T12:00:00.000Z' });

  const notes = await aside.notes();
  expect(notes).toEqual([
    { key: { kind: 'aside', name: '-/n1' }, etag: expect.any(String), note: { by: 'me' } },
  ]);
  await aside.remove(notes.map((note) => ({ ...note, etag: 'another' })));
  expect(await aside.notes()).toEqual(notes);
  await aside.remove(notes);
  expect(await aside.notes()).toEqual([]);
});

it.each<[string, Partial<ChangedAdvert>, Held, string | undefined]>([
  ['is on hold', {}, hold(), '2026-11-20T11:00:00.000Z'],
  ['failed', {}, hold(wait(9, 4)), '2026-11-20T11:30:00.000Z'],
  ['was redriven', { redriven: true }, hold(), '2026-11-20T11:30:00.000Z'],
])(
  'the longest wait is of the first that %s or of another account',
  async (_what, change, verdict, expected) => {
    const listed = (minute: number) => ({ listedAt: `2026-11-20T11:${minute}0:00.000Z` });
    const { aside } = await asideOf({
      a: [verdict, { ...listed(0), ...change }],
      b: [hold(), { ...listed(3), partnerAccount: 'b' }],
      c: [hold(), { ...listed(4), partnerAccount: 'c' }],
    });
    expect(await aside.oldestListedAt()).toBe(expected);
  },
);

it('messages of an advert are shown with the end of their wait', async () => {
  const { aside } = await asideOf({
    a: [hold()],
    b: [hold(wait(9, 4))],
    c: [hold(), { advertId: '1234' }],
    d: [hold(), { partnerAccount: 'main2' }],
  });
  const found = await aside.ofAdvert('main', '123');
  expect(lettersOf(found)).toBe('ab');
  expect(found.map(({ message: _message, ...rest }) => rest)).toEqual([
    { place: 'aside', receives: 0 },
    { place: 'aside', receives: 0, until: 9 },
  ]);
});
