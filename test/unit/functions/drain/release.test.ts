import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, expect, it } from 'vitest';
import { createRelease, type ReleaseDeps } from '../../../../functions/drain/release.ts';
import type { Hold } from '../../../../shared/domain/holds.ts';
import type { Settlement } from '../../../../shared/ports/queue.ts';
import { createAside } from '../../../../shared/state/aside.ts';
import { createDeadLetters } from '../../../../shared/state/dead-letters.ts';
import { createInMemoryStore } from '../../../fakes/store.ts';
import { createManualClock, type ManualClock } from '../../../helpers/manual-clock.ts';
import { createRecordingObserver } from '../../../helpers/recording-observer.ts';
import { changedAdvert, heldMessage, partnerAccount } from '../../../helpers/records.ts';

const startMs = Date.parse('2026-11-20T12:00:00Z');

let clock: ManualClock;
let observer: ReturnType<typeof createRecordingObserver>;
let store: ReturnType<typeof createInMemoryStore>;
let aside: ReturnType<typeof createAside>;
let holds: Record<string, readonly Hold[] | undefined>;
/** What was sent, by account, in each call; with the number of rows that were there then. */
let sent: [account: string, count: number][];
let deps: ReleaseDeps;
beforeEach(() => {
  clock = createManualClock(startMs);
  observer = createRecordingObserver();
  store = createInMemoryStore();
  aside = createAside(store);
  holds = { main: [], other: [] };
  sent = [];
  deps = {
    ...{ aside, observer, clock },
    queue: {
      async sendAgain(messages) {
        await nextTurn();
        sent.push([messages[0]?.message.partnerAccount ?? '', messages.length]);
        for (const { key } of messages) expect(store.find(key)).toBeDefined();
        return new Set();
      },
    },
    partnerAccounts: {
      async read(name) {
        await nextTurn();
        const held = holds[name];
        return held && partnerAccount({ name, holds: held });
      },
    },
    budgetStore: { read: async () => ({ nextFreeMs: 0, holds: holds.bridge ?? [] }) as never },
    settings: { maxRequestsPerSecond: 10 },
  };
});
const hold = (untilMs: number, change: Partial<Hold> = {}): Hold => ({
  ...{ kind: 'service', since: 0, until: startMs + untilMs, forMs: Math.abs(untilMs) },
  ...change,
});
async function put(account: string, count = 1, change: Partial<Settlement['verdict']> = {}) {
  for (let number = 1; number <= count; number += 1) {
    const message = changedAdvert({ partnerAccount: account, key: `${account}:${number}` });
    const { delivery, verdict } = heldMessage(message, 100 + number);
    await aside.store([{ delivery, verdict: { ...verdict, ...change } as Settlement['verdict'] }]);
  }
}
const releaseUntil = (ms: number, change: Partial<ReleaseDeps> = {}) =>
  createRelease({ ...deps, ...change })(startMs + ms);
const warnings = () => observer.lines.filter(({ level }) => level === 'warn');

it.each<[string, readonly Hold[] | undefined, readonly Hold[], number]>([
  ['nothing holds', [], [], 1],
  ['is unknown', undefined, [], 1],
  ['is on hold', [hold(1)], [], 0],
  ['was on hold until now', [hold(0)], [], 1],
  ['waits with the bridge', [], [hold(1)], 0],
  ['waited with the bridge until now', [], [hold(0)], 1],
])('a message of an account that %s is put back: %j, %j', async (_what, ofAccount, ofBridge, count) => {
  holds = { main: ofAccount, bridge: ofBridge };
  await put('main');
  await releaseUntil(5_000);

  expect(sent).toEqual(count > 0 ? [['main', 1]] : []);
  expect(await aside.count('main')).toBe(1 - count);
  const line = { level: 'info', fields: { partnerAccount: 'main', count: 1 } };
  expect(observer.lines).toMatchObject(count > 0 ? [line] : []);
  expect(clock.slept).toEqual([]);
});

it.each([
  ['none', 3],
  ['some', 1],
])('messages stay aside when the queue accepts %s of them', async (_which, refused) => {
  await put('main', 3);
  const sendAgain: ReleaseDeps['queue']['sendAgain'] = async (messages) =>
    new Set(messages.slice(0, refused).map(({ etag }) => etag));
  await releaseUntil(5_000, { queue: { sendAgain } });

  expect((await aside.list('main')).map(({ message }) => message.key)).toEqual(
    ['main:1', 'main:2', 'main:3'].slice(0, refused),
  );
  expect(observer.lines.map(({ fields }) => fields.count)).toEqual(refused === 3 ? [] : [2]);
});

it.each([
  [10, 25],
  [1, 3],
  [0.1, 1],
])('at %d requests a second, each five seconds %i messages are put back', async (rate, count) => {
  await put('main', 60);
  await releaseUntil(5_001, { settings: { maxRequestsPerSecond: rate } });

  expect(sent).toEqual([
    ['main', count],
    ['main', count],
  ]);
  expect(clock.slept).toEqual([5_000]);
});

it.each([
  ['at the last step', 5_000, [25]],
  ['before it', 5_001, [25, 25]],
  ['when all are put back', 60_000, [25, 25, 10]],
])('messages are put back in steps until the run ends: %s', async (_when, untilMs, counts) => {
  await put('main', 60);
  await releaseUntil(untilMs);
  expect(sent.map(([, count]) => count)).toEqual(counts);
  expect(clock.slept).toEqual(counts.slice(1).map(() => 5_000));
});

it('no more is put back when the bridge is held meanwhile', async () => {
  await put('main', 60);
  const sleep = async (ms: number) => {
    holds.bridge = [hold(60_000)];
    await clock.sleep(ms);
  };
  await releaseUntil(60_000, { clock: { ...clock, sleep } });
  expect(sent).toEqual([['main', 25]]);
});

it.each([
  ['at its end', 60_000, []],
  ['soon', 40_000, [40_000, 5_000, 5_000]],
  ['within a step', 1, [5_000, 5_000, 5_000]],
])('a run goes on after a pause of the bridge that ends %s', async (_when, untilMs, slept) => {
  holds.bridge = [hold(untilMs, { fault: 'rate-limited' })];
  await put('main', 60);
  await releaseUntil(60_000);
  expect(await aside.count('main')).toBe(slept.length > 0 ? 0 : 60);
  expect(clock.slept).toEqual(slept);
});

const alike = { fault: 'transient' } as const;
it.each([
  [55_000, 1],
  [55_001, 2],
  [-1, 2],
])('an account whose adverts fail alike has a try each minute: %i ms', async (ms, tries) => {
  holds.main = [hold(-1, alike)];
  await put('main', 5);
  const release = createRelease(deps);
  await release(startMs);
  clock.advance(ms);
  await release(startMs);
  expect(sent).toEqual(Array.from({ length: tries }, () => ['main', 1]));
});

it('a run goes on with an account that stops failing alike meanwhile', async () => {
  holds.main = [hold(-1, alike)];
  await put('main', 40);
  const sleep = async (ms: number) => {
    if (clock.slept.length === 1) holds.main = [];
    await clock.sleep(ms);
  };
  await releaseUntil(15_001, { clock: { ...clock, sleep } });
  expect(sent).toEqual([
    ['main', 1],
    ['main', 25],
    ['main', 14],
  ]);
  expect(clock.slept).toEqual([5_000, 5_000, 5_000]);
});

it('an account that fails alike takes no place of others', async () => {
  holds.main = [hold(-1, alike)];
  await put('main', 5);
  await put('other', 60);
  await releaseUntil(60_000);
  expect(sent.filter(([name]) => name === 'main')).toEqual([['main', 1]]);
  expect(await aside.count('other')).toBe(0);
  expect(clock.slept).toHaveLength(11);
});

it('a try of an account that fails alike is not used up while none is due', async () => {
  holds = { main: [hold(-1, alike)], other: [hold(-1, alike)] };
  await put('main', 1, { wait: { dueMs: startMs + 10_000, forMs: 10_000 } } as object);
  await put('other');
  const release = createRelease(deps);
  await release(startMs);
  clock.advance(10_000);
  await release(startMs);
  expect(sent).toEqual([
    ['other', 1],
    ['main', 1],
  ]);
});

it('notes are logged and removed, and take no place of messages', async () => {
  const deadLetters = createDeadLetters(store);
  await deadLetters.note('1', { by: 'me' });
  await put('main', 30);
  await releaseUntil(5_000);

  expect(warnings()).toMatchObject([{ fields: { by: 'me' } }]);
  expect(await aside.notes()).toEqual([]);
  expect(sent.reduce((sum, [, count]) => sum + count, 0)).toBe(25);
});

it('an account whose messages cannot be put back is reported, others go on', async () => {
  const error = new Error('throttled');
  await put('main');
  await put('other');
  const read: ReleaseDeps['partnerAccounts']['read'] = async (name) => {
    if (name === 'main') throw error;
    return deps.partnerAccounts.read(name);
  };
  await releaseUntil(5_000, { partnerAccounts: { read } });
  expect(sent).toEqual([['other', 1]]);
  expect(warnings()).toMatchObject([{ fields: { partnerAccount: 'main', error } }]);
});

it('a run that cannot list accounts is reported, and does not fail', async () => {
  const error = new Error('throttled');
  await releaseUntil(5_000, { aside: { ...aside, accounts: () => Promise.reject(error) } });
  expect(warnings()).toMatchObject([{ fields: { partnerAccount: undefined, error } }]);
});

it('a message that cannot be read is reported, and stays', async () => {
  await store.put({ kind: 'aside', name: 'main/1' }, { message: 7 }, 'absent');
  await put('main');
  await releaseUntil(5_000);
  expect(sent).toEqual([['main', 1]]);
  expect(warnings()).toMatchObject([{ fields: { reason: expect.stringContaining('main/1') } }]);
  expect(await aside.count('main')).toBe(1);
});

it.each([
  ['one', 1, 25, [25]],
  ['two', 2, 25, [12, 12, 1]],
  ['six', 6, 3, [3, 3, 3, 3, 3, 3]],
  ['thirty', 30, 2, Array.from({ length: 25 }, () => 1)],
])('a step shares what it puts back among accounts: %s', async (_many, accounts, each, counts) => {
  let [running, most] = [0, 0];
  for (let index = 10; index < 10 + accounts; index += 1) {
    holds[`a${index}`] = [];
    await put(`a${index}`, each);
  }
  const sendAgain: ReleaseDeps['queue']['sendAgain'] = async (messages) => {
    running += 1;
    most = Math.max(most, running);
    await nextTurn();
    running -= 1;
    return deps.queue.sendAgain(messages);
  };
  await releaseUntil(5_000, { queue: { sendAgain } });
  expect(sent.map(([, count]) => count)).toEqual(counts);
  expect(new Set(sent.map(([name]) => name)).size).toBe(Math.min(accounts, 25));
  expect(most).toBe(Math.min(4, accounts));
});

it('each run begins with the account at which the one before ended', async () => {
  const names = Array.from({ length: 40 }, (_, index) => `a${10 + index}`);
  for (const name of names) {
    holds[name] = [];
    await put(name, 3);
  }
  const firsts: unknown[] = [];
  for (let run = 0; run < 4; run += 1) {
    sent.length = 0;
    await createRelease(deps)(clock.now());
    firsts.push(names.indexOf(sent[0]?.[0] ?? ''));
    clock.advance(run === 2 ? 4_999 : 5_000);
  }
  const begin = ((startMs / 5_000) * 25) % 40;
  expect(firsts).toEqual([0, 25, 50, 50].map((turned) => (begin + turned) % 40));
});
