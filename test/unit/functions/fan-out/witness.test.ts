import { beforeEach, expect, it } from 'vitest';
import { createWitness, type Witness } from '../../../../functions/fan-out/witness.ts';
import { BridgeFault } from '../../../../shared/domain/faults.ts';
import type { PartnerAccount } from '../../../../shared/domain/partner-account.ts';
import { createManualClock, type ManualClock } from '../../../helpers/manual-clock.ts';
import { changedAdvert, feedState, partnerAccount } from '../../../helpers/records.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

let clock: ManualClock;
let accounts: Map<string, PartnerAccount>;
/** What the witness asked the service for. */
let asked: unknown[][];
let answer: (advertId: string) => void;
let successes: (number | undefined)[];
let witness: Witness;
beforeEach(() => {
  clock = createManualClock();
  accounts = new Map(['main', 'other'].map((name) => [name, partnerAccount({ name, bridge: 'B' })]));
  asked = [];
  answer = () => undefined;
  successes = [];
  witness = makeWitness();
});

const makeWitness = () =>
  createWitness({
    clock,
    partnerAccounts: {
      recent: async (name) => accounts.get(name),
      async change(name, change) {
        const account = accounts.get(name);
        const changed = account && change(account);
        if (changed) accounts.set(name, changed);
        return changed ?? account;
      },
    },
    feedStates: {
      ofAccount: async (partnerAccount) =>
        successes.map((lastSuccess) =>
          feedState({ partnerAccount, ...(lastSuccess !== undefined && { lastSuccess }) }),
        ),
    },
    adverts: {
      async readAdvert(...request) {
        asked.push(request);
        answer(request[1]);
        return { status: 'active', receivedAt: clock.now() + 7 };
      },
    },
  });
const askedIds = () => asked.map(([, id]) => id);
const fail = (code: 'transient' | 'not-found' = 'transient') => {
  answer = () => {
    throw new BridgeFault(code, `told to be ${code}`);
  };
};
const store = (advertId: string, at = 0) =>
  accounts.set('main', partnerAccount({ bridge: 'B', answeredWell: { advertId, at } }));
const message = changedAdvert({ advertId: '1' });
const isWell = (since = clock.now(), about = message) =>
  witness.isOtherWell(about, since, clock.now() + 5_000);
const isGone = (since: number) => witness.isGone(message, since, clock.now() + 5_000);

it.each([
  ['there is none', undefined, true],
  ['it is an hour old', -hourMs, true],
  ['it is younger', 1 - hourMs, false],
  ['a clock that was ahead wrote it less than an hour before', hourMs - 1, false],
  ['a clock that was ahead wrote it an hour before', hourMs, true],
])('a good answer is stored with the account when %s', async (_when, storedMs, isStored) => {
  if (storedMs !== undefined) store('2', clock.now() + storedMs);
  const before = accounts.get('main');

  await witness.answeredWell('main', '3', clock.now());

  const answeredWell = { advertId: '3', at: clock.now() };
  expect(accounts.get('main')).toEqual(isStored ? { ...before, answeredWell } : before);
});

it.each([
  ['was answered well after that moment', '2', 1, true, []],
  ['was answered well at that moment', '2', 0, false, ['2']],
  ['was answered well by a clock a minute ahead', '2', 10_000 + minuteMs, true, []],
  ['was answered well by a clock further ahead', '2', 10_001 + minuteMs, false, ['2']],
  ['is the advert itself', '1', 1, false, []],
])('an advert that %s is a witness, or asked for', async (_what, id, afterMs, expected, ids) => {
  const since = clock.now();
  await witness.answeredWell('main', id, since + afterMs);
  clock.advance(10_000);
  fail();

  expect(await isWell(since)).toBe(expected);
  expect(askedIds()).toEqual(ids);
});

it.each([
  ['the last good one of this process', '2', '3', ['2']],
  ['the stored one, if that is the advert itself', '1', '3', ['3']],
  ['the stored one, if this process has seen none', undefined, '3', ['3']],
  ['the last good one, if the advert itself is stored', '2', '1', ['2']],
  ['none, if both are the advert itself', '1', '1', []],
  ['none, if none is known', undefined, undefined, []],
])('as a witness, another advert is asked for: %s', async (_which, last, stored, ids) => {
  if (last) await witness.answeredWell('main', last, clock.now());
  if (stored) store(stored);
  else accounts.set('main', partnerAccount());

  expect(await isWell()).toBe(ids.length > 0);

  const options = { deadlineMs: clock.now() + 5_000, generation: message.generation, feed: 'adverts' };
  expect(asked).toEqual(ids.map((id) => ['main', id, options]));
});

it('an account that was removed has no witness', async () => {
  accounts.clear();
  expect(await isWell()).toBe(false);
});

it('an advert that was asked for well is a witness from its answer on', async () => {
  store('2');
  const since = clock.now() + 7;
  expect(await isWell(since)).toBe(true);
  clock.advance(10);
  expect(await isWell(since - 1)).toBe(true);
  expect(askedIds()).toEqual(['2']);
  fail();
  expect(await isWell(since)).toBe(false);
  expect(askedIds()).toEqual(['2', '2']);
});

it.each([
  [9_999, ['2']],
  [10_000, ['2', '2']],
  [-9_999, ['2']],
  [-10_000, ['2', '2']],
])('a witness that was asked in vain is asked again after 10 s: %i ms', async (afterMs, ids) => {
  store('2');
  fail();
  expect(await isWell()).toBe(false);
  clock.advance(afterMs);
  answer = () => undefined;

  expect(await isWell()).toBe(ids.length > 1);
  expect(askedIds()).toEqual(ids);
});

it('adverts of an account that fail together share a look at another', async () => {
  for (const name of ['main', 'other']) await witness.answeredWell(name, '9', 0);
  const messages = ['main', 'main', 'other'].map((partnerAccount, index) =>
    changedAdvert({ partnerAccount, advertId: String(index) }),
  );
  fail();
  expect(await Promise.all(messages.map((one) => isWell(0, one)))).toEqual([false, false, false]);

  expect(asked.map(([name, id]) => [name, id])).toEqual([
    ['main', '9'],
    ['other', '9'],
  ]);
});

it.each<[string, Error, string, string | undefined, string[]]>([
  ['is gone and stored', new BridgeFault('not-found', ''), '2', undefined, ['2']],
  ['is gone, while another is stored', new BridgeFault('not-found', ''), '3', '3', ['2', '3']],
  ['is not answered', new BridgeFault('transient', ''), '2', '2', ['2', '2']],
  ['is refused, while another is stored', new BridgeFault('forbidden', ''), '3', '3', ['2', '2']],
  ['cannot be asked for', new Error('full'), '2', '2', ['2', '2']],
])('a witness that %s is replaced only if it is gone', async (_what, error, stored, left, ids) => {
  await witness.answeredWell('main', '2', clock.now());
  store(stored);
  const { answeredWell, ...account } = partnerAccount({ ...accounts.get('main') });
  answer = () => {
    throw error;
  };
  expect(await isWell()).toBe(false);

  expect(accounts.get('main')).toEqual(left === undefined ? account : { ...account, answeredWell });
  clock.advance(10_000);
  await isWell();
  expect(askedIds()).toEqual(ids);
});

it('an advert is gone when another one is answered well, at any time', async () => {
  store('2');
  expect(await isGone(clock.now())).toBe(true);
});

it.each([
  ['is read again', 900_000, [1], 'alone'],
  ['is read again, 1 ms before a quarter of an hour', 899_999, [1], false],
  ['was read at that moment', 900_000, [0], false],
  ['was read before', 3_600_000, [-1], false],
  ['was never read', 900_000, [undefined], false],
  ['is one of several, and one was read', 900_000, [undefined, 1], 'alone'],
  ['is unknown', 900_000, [], false],
  ['was read by a clock a minute ahead', 900_000, [960_000], 'alone'],
  ['was read by a clock further ahead', 900_000, [960_001], false],
])('a lone advert is gone when its feed %s', async (_what, afterMs, readMs, expected) => {
  const since = clock.now();
  successes = readMs.map((ms) => (ms === undefined ? undefined : since + ms));
  clock.advance(afterMs);

  expect(await isGone(since)).toBe(expected);
});
