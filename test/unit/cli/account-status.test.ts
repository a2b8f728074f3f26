import { describe, expect, it } from 'vitest';
import { needsPerson, readStatus, type StatusPorts } from '../../../cli/account-status.ts';
import { statusText } from '../../../cli/status-text.ts';
import type { FeedState } from '../../../functions/drain/ports.ts';
import { emptyBooks } from '../../../shared/domain/books.ts';
import type { PartnerAccount } from '../../../shared/domain/ports.ts';
import { feedState, partnerAccount } from '../../helpers/records.ts';

const nowMs = Date.parse('2026-11-20T12:00:00.000Z');
const books = { ...emptyBooks, events: 1, listed: 1 };

interface Given {
  readonly account?: Partial<PartnerAccount>;
  readonly feed?: Partial<FeedState>;
  readonly pausedUntilMs?: number;
  readonly redelivered?: number;
}

function statusOf({ account, feed, pausedUntilMs = 0, redelivered }: Given) {
  const ports: StatusPorts = {
    partnerAccounts: { list: async () => [partnerAccount(account)] },
    feedStates: { list: async () => [feedState(feed)] },
    bookKeeper: {
      read: async () => ({ ...books, ...(redelivered === undefined ? {} : { redelivered }) }),
      queue: async () => ({ waiting: 0, deadLetters: 0 }),
    },
    budgetStore: { read: async () => ({ nextSlotMs: 0, pausedUntilMs }) },
  };
  return readStatus(ports, nowMs);
}

const stop = { reason: 'refresh-token-rejected', tokenVersion: '1', at: '2026-11-20T11:00:00.000Z' };
const token = { version: '1', expiresAt: nowMs, usedAt: nowMs };
const dayMs = 86_400_000;

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
      { account: { stop, token } },
      { state: 'stopped', reason: 'refresh-token-rejected' },
      true,
    ],
    [
      'is stopped on purpose',
      { account: { stop: { ...stop, reason: 'disconnected' } } },
      { state: 'stopped' },
      false,
    ],
    [
      'is not stopped by the end of an older token',
      { account: { stop, token: { ...token, version: '2' } } },
      { state: 'polling', reason: null },
      false,
    ],
    [
      'is paused for a while',
      { account: { pause: { until: nowMs + 1, reason: 'token-rejected-again', attempts: 1 } } },
      { state: 'paused', reason: 'token-rejected-again' },
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
  const status = await statusOf({ pausedUntilMs: nowMs + 30_000 });

  expect(status.pausedUntil).toBe('2026-11-20T12:00:30.000Z');
  expect(statusText(status, { kind: 'local', dir: 'x' }, nowMs)).toContain('2026-11-20T12:00:30.000Z (30 s)');
  expect((await statusOf({ pausedUntilMs: nowMs })).pausedUntil).toBeNull();
});

it('says when a refresh token that is not used will die', async () => {
  const status = await statusOf({ account: { token: { ...token, usedAt: nowMs - 25 * dayMs } } });

  expect(statusText(status, { kind: 'local', dir: 'x' }, nowMs)).toContain(
    'it dies at 2026-11-25T12:00:00.000Z',
  );
});

it('does not promise a refresh to a partner account that is stopped', async () => {
  const target = { kind: 'local', dir: 'x' } as const;
  const polled = statusText(await statusOf({ account: { token } }), target, nowMs);
  const ended = statusText(await statusOf({ account: { token, stop } }), target, nowMs);

  expect(polled).toMatch(/token: until .+, then refreshed/);
  expect(ended).toContain('token: not used any more');
  expect(ended).toContain('to go on: `advert-bridge connect main --open --local x`');
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
            ...(stopped.includes(name) ? { stop } : {}),
            ...(paused.includes(name)
              ? { pause: { until: nowMs + 1, reason: 'token-rejected-again', attempts: 1 } }
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
    budgetStore: { read: async () => ({ nextSlotMs: 0, pausedUntilMs: 0 }) },
  };

  it('is a page for a person: those that need one first, the rest summed up', async () => {
    const text = statusText(await readStatus(ports, nowMs), { kind: 'local', dir: 'x' }, nowMs);
    const lines = text.split('\n');

    expect(lines[0]).toBe('1,000 partner accounts: 985 polling, 1 paused, 14 stopped');
    expect(lines[1]).toBe('14 of them need a person:');
    expect(lines[2]).toBe('  user-1069: stopped (refresh-token-rejected)');
    expect(text).toContain(
      '  and 4 more\n1 wait or fail for now:\n  user-1003: paused (token-rejected-again)',
    );
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
