import { describe, expect, it } from 'vitest';
import { statusText } from '../../../../cli/commands/status.ts';
import { readStatus, type StatusPorts } from '../../../../operations/status.ts';
import { ShapeError } from '../../../../shared/contract/checks.ts';
import type { Hold } from '../../../../shared/domain/holds.ts';
import type { PartnerAccount } from '../../../../shared/domain/partner-account.ts';
import { emptyBooks } from '../../../../shared/state/books.ts';
import type { FeedState } from '../../../../shared/state/feed-states.ts';
import { stopped, tokenHold } from '../../../helpers/holds.ts';
import { feedState, partnerAccount } from '../../../helpers/records.ts';

const nowMs = Date.parse('2026-11-20T12:00:00.000Z');
const local = { kind: 'local', dir: 'x' } as const;
const stack = { kind: 'stack', stack: 'AdvertBridge' } as const;
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
  it('has the last poll, the reserved budget and the oldest change, as data and as text', async () => {
    const queue = async () => ({ waiting: 2, deadLetters: 0, oldestListedAt: '2026-11-20T11:55:00.000Z' });
    const status = await readStatus(
      {
        partnerAccounts: { list: async () => [partnerAccount()] },
        feedStates: { list: async () => [feedState({ lastPolled: nowMs - 12_000 })] },
        bookKeeper: { read: async () => books, queue },
        activity: {
          read: async () => ({
            maxRequestsPerSecond: 10,
            minutes: {
              [String(Math.floor(nowMs / 60_000))]: { ok: 1_200, 'rate-limited': 2, none: 1, ms: 60_100 },
            },
          }),
        },
        budgetStore: { read: async () => ({ nextSlotMs: nowMs + 4_000 }) },
      },
      nowMs,
    );

    expect(status).toMatchObject({
      lastDrain: '2026-11-20T11:59:48.000Z',
      budget: { reservedSeconds: 4 },
      oldestWaitingSeconds: 300,
    });
    const text = statusText(status, local, nowMs);
    for (const part of [
      ...['2 waiting (the oldest for 5 min)', 'last poll: 12 s ago', 'for the next 4 s'],
      '15 min: 1,200 ok, 2 rate-limited (429), 1 without an answer, 50 ms on average',
      'rate: 13 % of 10 requests a second used, 100 % in the busiest minute',
    ])
      expect(text).toContain(part);
  });

  it('leaves out a row that cannot be read, and names it', async () => {
    const status = await readStatus(
      {
        partnerAccounts: {
          async list(onUnreadable) {
            onUnreadable?.(
              new ShapeError('partner account odd', [{ path: 'generation', expected: 'a number' }]),
            );
            return [partnerAccount()];
          },
        },
        feedStates: { list: async () => [feedState()] },
        bookKeeper: { read: async () => books, queue: async () => ({ waiting: 0, deadLetters: 0 }) },
        activity: { read: async () => undefined },
        budgetStore: { read: async () => ({ nextSlotMs: 0 }) },
      },
      nowMs,
    );

    expect(status.unreadable).toEqual(['partner account odd: generation: a number']);
    expect(status.partnerAccounts.map(({ name }) => name)).toEqual(['main']);
  });
});

describe('the status of a partner account', () => {
  it.each<[string, Given, object]>([
    ['is polling', {}, { state: 'polling', reason: null, lastSuccess: null }],
    [
      'lags since it was connected when it was never read to its end',
      { account: { connectedAt: new Date(nowMs - 60_000).toISOString() } },
      { lagSeconds: 60, lastSuccess: null },
    ],
    ['has its last fault', { feed: { fault: 'no answer' } }, { state: 'polling', reason: 'no answer' }],
    [
      'has a fault that waiting does not cure',
      { feed: { fault: 'no such path', needsPerson: true } },
      { state: 'polling', reason: 'no such path' },
    ],
    [
      'has its lag',
      { feed: { lastSuccess: nowMs - 90_000 } },
      { lagSeconds: 90, lastSuccess: '2026-11-20T11:58:30.000Z' },
    ],
    [
      'lags since it was connected when its last success is in the future',
      {
        account: { connectedAt: new Date(nowMs - 60_000).toISOString() },
        feed: { lastSuccess: Date.parse('9999-12-31T23:59:59Z') },
      },
      { lagSeconds: 60, lastSuccess: null },
    ],
    ['is never ahead', { feed: { lastSuccess: nowMs + 5 } }, { lagSeconds: 0 }],
    ['is stopped', { account: { ...stop, token } }, { state: 'stopped', reason: 'refresh-token-rejected' }],
    ['is stopped on purpose', { account: stopped('disconnected') }, { state: 'stopped' }],
    [
      'is paused for a while',
      {
        account: { holds: [{ ...tokenHold(nowMs + 1, 'no token'), since: nowMs, fault: 'token-rejected' }] },
      },
      { state: 'paused', reason: 'no token' },
    ],
    [
      'is paused until its feed makes sense',
      { feed: { pausedUntil: nowMs + 1, fault: 'three cursors rejected' } },
      { state: 'paused', reason: 'three cursors rejected' },
    ],
    [
      'has a refresh token that will die within a week',
      { account: { token: { ...token, usedAt: nowMs - 23 * dayMs } } },
      { state: 'polling', needsPerson: true, refreshTokenExpiresAt: '2026-11-27T12:00:00.000Z' },
    ],
    [
      'has a refresh token with time enough',
      { account: { token: { ...token, usedAt: nowMs - 23 * dayMs + 1 } } },
      { state: 'polling', needsPerson: false },
    ],
    ['is not paused any more', { feed: { pausedUntil: nowMs } }, { state: 'polling' }],
    ['has no feed of an earlier life', { feed: { generation: 1, resets: 3 } }, { cursorResets: 0 }],
  ])('%s', async (_title, given, expected) => {
    const status = await statusOf(given);

    expect(status.partnerAccounts).toMatchObject([expected]);
  });
});

it('keeps repeated deliveries out of the sum, and says what they mean', async () => {
  const status = await statusOf({ redelivered: 4 });

  expect(status.partnerAccounts).toMatchObject([{ books, redelivered: 4 }]);
  expect(status.partnerAccounts[0]?.books).not.toHaveProperty('redelivered');
  expect(statusText(status, stack, nowMs)).toMatch(/counted per delivery.* 4 /);
});

it('does not promise a refresh to a partner account that is stopped', async () => {
  const polled = statusText(await statusOf({ account: { token } }), local, nowMs);
  const ended = statusText(await statusOf({ account: { token, ...stop } }), local, nowMs);

  expect(polled).toMatch(/token: until .+, then refreshed/);
  expect(ended).toContain('token: no longer used');
});

it('says when a cursor was last rejected', async () => {
  const status = await statusOf({ feed: { resets: 2, lastReset: nowMs } });

  expect(status.partnerAccounts).toMatchObject([
    { cursorResets: 2, lastCursorReset: '2026-11-20T12:00:00.000Z' },
  ]);
  expect(statusText(status, local, nowMs)).toContain('rejected 2 times, last at 2026-11-20T12:00:00.000Z');
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

  it('are summed up: first those that need somebody, ten at most', async () => {
    const text = statusText(await readStatus(ports, nowMs), { kind: 'local', dir: 'x' }, nowMs);
    const lines = text.split('\n');

    expect(lines[0]).toMatch(/^Delivering, but not for user-1069, .* and 9 more\.$/);
    expect(lines[1]).toBe('1,000 partner accounts: 985 polling, 1 paused, 14 stopped');
    expect(lines[2]).toBe('user-1069: stopped (refresh-token-rejected)');
    for (const part of ['and 5 more', 'furthest behind: user-1999, 100 s', '3,000 listed = 2,000 events'])
      expect(text).toContain(part);
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
