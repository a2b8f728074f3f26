import { describe, expect, it } from 'vitest';
import { needsPerson, readStatus, type StatusPorts } from '../../../cli/account-status.ts';
import { statusText } from '../../../cli/status-text.ts';
import type { FeedState } from '../../../functions/drain/ports.ts';
import type { PartnerAccount } from '../../../shared/domain/ports.ts';
import { feedState, partnerAccount } from '../../helpers/records.ts';

const nowMs = Date.parse('2026-11-20T12:00:00.000Z');
const books = {
  events: 1,
  listed: 1,
  unchanged: 0,
  coalesced: 0,
  unavailable: 0,
  deadLettered: 0,
  inFlight: 0,
};

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
const token = { version: '1', expiresAt: nowMs, usedAt: 0 };

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
