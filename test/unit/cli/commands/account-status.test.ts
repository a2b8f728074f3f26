import { describe, expect, it } from 'vitest';
import { statusText } from '../../../../cli/commands/status.ts';
import { findingsOf, needsAttention } from '../../../../operations/findings.ts';
import { readStatus, type Status, type StatusPorts } from '../../../../operations/status.ts';
import { ShapeError } from '../../../../shared/contract/checks.ts';
import { emptyBooks } from '../../../../shared/domain/books.ts';
import type { Hold } from '../../../../shared/domain/holds.ts';
import type { PartnerAccount } from '../../../../shared/domain/partner-account.ts';
import type { FeedState } from '../../../../shared/ports/feed-states.ts';
import { serviceHold, stopped, tokenHold } from '../../../helpers/holds.ts';
import { feedState, partnerAccount } from '../../../helpers/records.ts';

const nowMs = Date.parse('2026-11-20T12:00:00.000Z');
const command = (words: string) => words;
const findings = (status: Status) => findingsOf(status, { nowMs, kind: 'local', command });
const needsPerson = (status: Status) => needsAttention(findings(status));
const causesOf = (status: Status) => findings(status).map(({ what }) => what);
const books = { ...emptyBooks, events: 1, listed: 1 };

interface Given {
  readonly account?: Partial<PartnerAccount>;
  readonly feed?: Partial<FeedState>;
  readonly hold?: Hold;
  readonly redelivered?: number;
}

function statusOf({ account, feed, hold, redelivered }: Given) {
  const ports: StatusPorts = {
    partnerAccounts: { list: async () => [partnerAccount(account)] },
    feedStates: { list: async () => [feedState(feed)] },
    bookKeeper: {
      read: async () => ({ ...books, ...(redelivered === undefined ? {} : { redelivered }) }),
      queue: async () => ({ waiting: 0, deadLetters: 0 }),
    },
    activity: { read: async () => undefined },
    budgetStore: {
      read: async () => ({ nextSlotMs: 0, ...(hold && { holds: [hold] }) }),
    },
  };
  return readStatus(ports, nowMs);
}

const stop = stopped('refresh-token-rejected');
const token = { version: '1', expiresAt: nowMs, usedAt: nowMs };
const dayMs = 86_400_000;

describe('the status of the bridge', () => {
  const ports = (given: Partial<StatusPorts>): StatusPorts => ({
    partnerAccounts: { list: async () => [partnerAccount({ connectedAt: new Date(nowMs).toISOString() })] },
    feedStates: { list: async () => [feedState({ lastPolled: nowMs - 12_000 })] },
    bookKeeper: { read: async () => books, queue: async () => ({ waiting: 0, deadLetters: 0 }) },
    activity: { read: async () => undefined },
    budgetStore: { read: async () => ({ nextSlotMs: nowMs + 4_000 }) },
    ...given,
  });
  it('shows what the service answered, and how much of the rate was used', async () => {
    const minute = String(Math.floor(nowMs / 60_000));
    const counts = { ok: 1_200, 'rate-limited': 2, none: 1, ms: 60_100 };
    const read = async () => ({ maxRequestsPerSecond: 10, minutes: { [minute]: counts } });
    const text = statusText(await readStatus(ports({ activity: { read } }), nowMs), local, nowMs);

    expect(text).toContain('15 min: 1,200 ok, 2 rate-limited (429), 1 without an answer, 50 ms on average\n');
    expect(text).toContain('rate: 13 % of 10 requests a second used, 100 % in the busiest minute');
  });

  const unreadable = (place: string) => ({
    async list(onUnreadable?: (error: ShapeError) => void): Promise<[]> {
      onUnreadable?.(new ShapeError(place, [{ path: 'generation', expected: 'expected a whole number' }]));
      return [];
    },
  });

  it('has the last poll, the use of the rate budget, and the change that waits longest', async () => {
    const queue = async () => ({ waiting: 2, deadLetters: 0, oldestListedAt: '2026-11-20T11:55:00.000Z' });
    const status = await readStatus(ports({ bookKeeper: { read: async () => books, queue } }), nowMs);

    expect(status).toMatchObject({
      lastDrain: '2026-11-20T11:59:48.000Z',
      budget: { reservedSeconds: 4 },
      oldestWaitingSeconds: 300,
    });
    const text = statusText(status, { kind: 'local', dir: 'x' }, nowMs);
    expect(text).toContain('queue: 2 waiting (the oldest for 5 min), 0 dead-lettered');
    expect(text).toContain('last poll: 12 s ago');
    expect(text).toContain('rate budget: reserved for the next 4 s');
    expect(causesOf(status)).toEqual(['late']);
  });

  it.each([
    ['partnerAccounts', 'partner account main'],
    ['feedStates', 'state of feed main/adverts'],
  ])('tells of a row of %s that cannot be read, with all others', async (port, place) => {
    const status = await readStatus(ports({ [port]: unreadable(place) }), nowMs + 120_000);

    expect(status).toMatchObject({
      unreadable: [`${place}: generation: expected a whole number`],
    });
    expect(causesOf(status)).toEqual(['unreadable-row']);
    expect(status.partnerAccounts.flatMap(({ attention }) => attention)).toEqual([]);
    expect(needsPerson(status)).toBe(true);
    expect(statusText(status, { kind: 'local', dir: 'x' }, nowMs)).toMatch(
      new RegExp(`A stored row cannot be read, .*: ${place}: .*docs/operate/backup.md`),
    );
  });

  it('has a sentence with a command for dead letters', async () => {
    const queue = async () => ({ waiting: 0, deadLetters: 2 });
    const status = await readStatus(ports({ bookKeeper: { read: async () => books, queue } }), nowMs);

    expect(causesOf(status)).toEqual(['dead-letters']);
    expect(statusText(status, { kind: 'local', dir: 'x' }, nowMs)).toContain(
      '`advert-bridge dead-letters list --local x`',
    );
  });

  it.each([
    ['lags as long as no alarm is raised', 300, []],
    ['lags longer', 301, ['lagging']],
  ])('of an account that %s', async (_how, seconds, attention) => {
    const status = await readStatus(ports({}), nowMs + seconds * 1000);

    expect(status.partnerAccounts[0]).toMatchObject({ lagSeconds: seconds, attention });
    expect(needsPerson(status)).toBe(attention.length > 0);
    const told = statusText(status, { kind: 'local', dir: 'x' }, nowMs).includes(
      'docs/operate/runbook.md#nosuccessfuldrain',
    );
    expect(told).toBe(attention.length > 0);
  });
});

describe('the status of a partner account', () => {
  it.each<[string, Given, object, boolean]>([
    ['is polling', {}, { state: 'polling', reason: null, lastSuccess: null }, false],
    [
      'lags since it was connected when it was never read to its end',
      { account: { connectedAt: new Date(nowMs - 60_000).toISOString() } },
      { lagSeconds: 60, lastSuccess: null },
      false,
    ],
    [
      'has its last fault',
      { feed: { fault: 'no answer' } },
      { state: 'polling', reason: 'no answer' },
      false,
    ],
    [
      'has a fault that waiting does not cure',
      { feed: { fault: 'no such path', needsPerson: true } },
      { state: 'polling', reason: 'no such path' },
      true,
    ],
    [
      'has its lag',
      { feed: { lastSuccess: nowMs - 90_000 } },
      { lagSeconds: 90, lastSuccess: '2026-11-20T11:58:30.000Z' },
      false,
    ],
    [
      'lags since it was connected when its last success is in the future',
      {
        account: { connectedAt: new Date(nowMs - 60_000).toISOString() },
        feed: { lastSuccess: Date.parse('9999-12-31T23:59:59Z') },
      },
      { lagSeconds: 60, lastSuccess: null },
      false,
    ],
    ['is never ahead', { feed: { lastSuccess: nowMs + 5 } }, { lagSeconds: 0 }, false],
    [
      'is stopped',
      { account: { ...stop, token } },
      { state: 'stopped', reason: 'refresh-token-rejected' },
      true,
    ],
    ['is stopped on purpose', { account: stopped('disconnected') }, { state: 'stopped' }, false],
    [
      'is paused for a while',
      {
        account: { holds: [{ ...tokenHold(nowMs + 1, 'no token'), since: nowMs, fault: 'token-rejected' }] },
      },
      { state: 'paused', reason: 'no token' },
      false,
    ],
    [
      'is paused until its feed makes sense',
      { feed: { pausedUntil: nowMs + 1, fault: 'three cursors rejected' } },
      { state: 'paused', reason: 'three cursors rejected' },
      true,
    ],
    [
      'has a refresh token that will die within a week',
      { account: { token: { ...token, usedAt: nowMs - 23 * dayMs } } },
      { state: 'polling', needsPerson: true, refreshTokenExpiresAt: '2026-11-27T12:00:00.000Z' },
      true,
    ],
    [
      'has a refresh token with time enough',
      { account: { token: { ...token, usedAt: nowMs - 23 * dayMs + 1 } } },
      { state: 'polling', needsPerson: false },
      false,
    ],
    ['is not paused any more', { feed: { pausedUntil: nowMs } }, { state: 'polling' }, false],
    ['has no feed of an earlier life', { feed: { generation: 1, resets: 3 } }, { cursorResets: 0 }, false],
  ])('%s', async (_title, given, expected, isLeftForPerson) => {
    const status = await statusOf(given);

    expect(status.partnerAccounts).toMatchObject([expected]);
    expect(needsPerson(status)).toBe(isLeftForPerson);
  });
});

it('keeps repeated deliveries out of the sum, and says what they mean', async () => {
  const status = await statusOf({ redelivered: 4 });

  expect(status.partnerAccounts).toMatchObject([{ books, redelivered: 4 }]);
  expect(status.partnerAccounts[0]?.books).not.toHaveProperty('redelivered');
  expect(statusText(status, { kind: 'stack', stack: 'AdvertBridge' }, nowMs)).toContain(
    '(outcomes are counted per delivery; 4 deliveries were repeated)',
  );
});

it('says until when the service wants to be left alone', async () => {
  const status = await statusOf({ hold: serviceHold('service', nowMs + 30_000) });

  expect(status.pausedUntil).toBe('2026-11-20T12:00:30.000Z');
  expect(statusText(status, { kind: 'local', dir: 'x' }, nowMs)).toMatch(
    /^Late since .* until 2026-11-20T12:00:30/,
  );
  expect((await statusOf({ hold: serviceHold('service', nowMs) })).pausedUntil).toBeNull();
});

it('says when a refresh token that is not used will die', async () => {
  const status = await statusOf({ account: { token: { ...token, usedAt: nowMs - 25 * dayMs } } });

  expect(statusText(status, { kind: 'local', dir: 'x' }, nowMs)).toContain(
    'expires at 2026-11-25T12:00:00.000Z',
  );
});

it('does not promise a refresh to a partner account that is stopped', async () => {
  const target = { kind: 'local', dir: 'x' } as const;
  const polled = statusText(await statusOf({ account: { token } }), target, nowMs);
  const ended = statusText(await statusOf({ account: { token, ...stop } }), target, nowMs);

  expect(polled).toMatch(/token: until .+, then refreshed/);
  expect(ended).toContain('token: no longer used');
  expect(ended).toContain('`advert-bridge connect main --open --local x`');
});

const local = { kind: 'local', dir: 'x' } as const;
const stack = { kind: 'stack', stack: 'AdvertBridge' } as const;
const connectAgain = '`advert-bridge connect main --open --local x`';

describe('what needs a person is told in a sentence of its own, with the command that mends it', () => {
  const fault = (faultKind: string, text: string = faultKind): Given => ({
    account: { token },
    feed: { fault: text, faultKind, needsPerson: true, lastPolled: nowMs + 1 },
  });
  const emptySecret = 'token of partner account main: secret advert-bridge/application: expected an object';

  it.each<[string, Given, string, RegExp, string]>([
    [
      'a dead refresh token',
      { account: { token, ...stop } },
      'refresh-token-rejected',
      /no longer accepts its refresh token/,
      connectAgain,
    ],
    [
      'too small a scope',
      { account: { token, ...stopped('scope-insufficient') } },
      'scope-insufficient',
      /granted less/,
      connectAgain,
    ],
    [
      'a rejected client secret',
      fault('client-rejected'),
      'client-rejected',
      /client secret/,
      '`advert-bridge application',
    ],
    [
      'an empty application secret',
      fault('malformed-state', emptySecret),
      'malformed-state',
      /missing or damaged/,
      '`advert-bridge application',
    ],
    [
      'a damaged secret of its own',
      fault('malformed-state', 'secret advert-bridge/partner-accounts/main: expected JSON'),
      'malformed-state',
      /damaged/,
      connectAgain,
    ],
    [
      'a redirect',
      fault('wrong-path'),
      'wrong-path',
      /base URL \(it answers with a redirect/,
      '`advert-bridge application --base-url URL',
    ],
    [
      'a cursor that does not move',
      { feed: { pausedUntil: nowMs + 1, fault: 'three', faultKind: 'contract-broken', needsPerson: true } },
      'feed-stuck',
      /cursor/,
      '`advert-bridge resync main --since TIME --local x`',
    ],
    [
      'a feed of another generation',
      { account: { connectedAt: new Date(nowMs - 60_000).toISOString() }, feed: { generation: 1 } },
      'feed-missing',
      /not polled/,
      connectAgain,
    ],
    [
      'a token without use',
      { account: { token: { ...token, usedAt: nowMs - 25 * dayMs } } },
      'refresh-token-dying',
      /not used for weeks and expires at 2026-11-25/,
      connectAgain,
    ],
    [
      'an answer that cannot be sent',
      { account: { holds: [tokenHold(nowMs + 1, 'token-answer-broken')] } },
      'token-answer-broken',
      /cannot be sent/,
      connectAgain,
    ],
    [
      'a fault of a newer bridge',
      fault('never-heard-of', 'the words of it'),
      'never-heard-of',
      /needs manual action \(the words of it\)/,
      '',
    ],
  ])('%s', async (_case, given, cause, sentence, command) => {
    const status = await statusOf(given);
    const text = statusText(status, local, nowMs);

    expect(status.partnerAccounts[0]?.attention).toEqual([cause]);
    expect(needsPerson(status)).toBe(true);
    expect(text).toMatch(sentence);
    expect(text).toContain(command);
    if (cause !== 'refresh-token-dying') expect(text).not.toContain('was not used for weeks');
  });

  it('of a stack, the base URL is a setting', async () => {
    expect(statusText(await statusOf(fault('wrong-path')), stack, nowMs)).toContain(
      '`npx cdk deploy -c partnerBaseUrl=URL`',
    );
  });

  it('but not what a reconnect has ended, though the feed has not been polled since', async () => {
    const feed = { fault: 'stopped', faultKind: 'account-stopped', needsPerson: true, lastPolled: nowMs - 1 };
    const status = await statusOf({ account: { token }, feed });

    expect(status.partnerAccounts).toMatchObject([{ state: 'polling', reason: null, attention: [] }]);
    expect(needsPerson(status)).toBe(false);
  });

  it('nor a feed that is about to be registered', async () => {
    const connectedAt = new Date(nowMs - 59_999).toISOString();

    expect(needsPerson(await statusOf({ account: { connectedAt }, feed: { generation: 1 } }))).toBe(false);
  });
});

it('calls an open circuit that, and has a person look at it', async () => {
  const open = await statusOf({ hold: serviceHold('circuit', nowMs + 60_000) });
  const onTrial = await statusOf({ hold: serviceHold('circuit', nowMs - 1) });
  const asked = await statusOf({ hold: serviceHold('service', nowMs + 60_000) });

  expect([open, onTrial, asked].map(needsPerson)).toEqual([true, true, false]);
  expect(statusText(open, local, nowMs)).toMatch(/circuit is open.+until 2026-11-20T12:01:00.000Z/);
  expect(statusText(onTrial, local, nowMs)).toMatch(/circuit is open.+next request goes through as a trial/);
  expect(statusText(asked, local, nowMs)).not.toContain('circuit');
});

describe('the status of a thousand partner accounts', () => {
  const names = Array.from({ length: 1000 }, (_, index) => `user-${1000 + index}`);
  const stopped = names.filter((_, index) => index % 70 === 69);
  const paused = ['user-1003'];
  const reads: string[] = [];
  const ports: StatusPorts = {
    partnerAccounts: {
      list: async () =>
        names.map((name) =>
          partnerAccount({
            name,
            token,
            ...(stopped.includes(name) ? stop : {}),
            ...(paused.includes(name)
              ? { holds: [{ ...tokenHold(nowMs + 1, 'no token'), since: nowMs, fault: 'token-rejected' }] }
              : {}),
          }),
        ),
    },
    feedStates: {
      list: async () =>
        names.map((partnerAccount, index) => feedState({ partnerAccount, lastSuccess: nowMs - index * 100 })),
    },
    bookKeeper: {
      read: async (name) => {
        reads.push(name);
        return { ...books, listed: 3, events: 2 };
      },
      queue: async () => ({ waiting: 5, deadLetters: 0 }),
    },
    activity: { read: async () => undefined },
    budgetStore: { read: async () => ({ nextSlotMs: 0 }) },
  };

  it('is a page for a person: those that need one first, the rest summed up', async () => {
    const text = statusText(await readStatus(ports, nowMs), { kind: 'local', dir: 'x' }, nowMs);
    const lines = text.split('\n');

    expect(lines[0]).toMatch(/^Delivering, but not for user-1069, .* and 9 more\.$/);
    expect(lines[1]).toBe('1,000 partner accounts: 985 polling, 1 paused, 14 stopped');
    expect(lines[2]).toBe('14 of them need manual action:');
    expect(lines[3]).toBe('  user-1069: stopped (refresh-token-rejected)');
    expect(text).toContain('  and 4 more\n1 wait or fail for now:\n  user-1003: paused (no token)');
    expect(text).toContain('furthest behind: user-1999, 100 s');
    expect(text).toContain('3,000 listed = 2,000 events');
    expect(lines.length).toBeLessThan(40);
  });

  it('has all of them as data', async () => {
    const { partnerAccounts } = await readStatus(ports, nowMs);

    expect(partnerAccounts.map(({ name }) => name)).toEqual(names);
    expect(partnerAccounts.filter((account) => account.needsPerson).map(({ name }) => name)).toEqual(stopped);
  });

  it('reads the books of one alone when only that is asked for', async () => {
    reads.length = 0;

    const { partnerAccounts } = await readStatus(ports, nowMs, 'user-1500');

    expect(partnerAccounts.map(({ name }) => name)).toEqual(['user-1500']);
    expect(reads).toEqual(['user-1500']);
  });
});
