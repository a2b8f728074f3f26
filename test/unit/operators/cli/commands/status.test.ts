import { expect, it } from 'vitest';
import { statusLines, watch } from '../../../../../operators/cli/commands/status.ts';
import { lineText } from '../../../../../operators/cli/shared/io.ts';
import { localTarget, stackTarget, type Target } from '../../../../../operators/cli/shared/target.ts';
import { findingsOf } from '../../../../../operators/operations/findings/findings.ts';
import type { Status } from '../../../../../operators/operations/printed.ts';
import { emptyBooks } from '../../../../../shared/state/books.ts';
import { stopped, tokenHold } from '../../../../helpers/holds.ts';
import { feedProblem, stuckUntil } from '../../../../helpers/records.ts';
import { type GivenStatus, nowMs, statusOf } from '../../operations/bridge-status.ts';

const textOf = (status: Status, target: Target) => {
  const findings = findingsOf(status, { ...target, nowMs });
  const shown = { ...status, findings, version: { deployed: null, command: '1' } };
  return statusLines(shown, target, nowMs).map(lineText).join('\n');
};
const local = localTarget('x');
const stack = stackTarget('AdvertBridge');
const stop = stopped('refresh-token-rejected');
const token = { version: '1', expiresAt: nowMs, usedAt: nowMs };
const noToken = { ...tokenHold(nowMs + 1, 'no token'), since: nowMs, fault: 'token-rejected' };
const noQueue = async () => ({ waiting: 0, deadLetters: 0 });

it('status has last poll, reserved budget and oldest change, as JSON too', async () => {
  const counts = { ok: 1_200, 'rate-limited': 2, none: 1, ms: 60_100 };
  const minutes = { [Math.floor(nowMs / 60_000)]: counts };
  const status = await statusOf({
    feed: { lastPolled: nowMs - 12_000 },
    queue: { waiting: 2, oldestListedAt: '2026-11-20T11:55:00.000Z' },
    ports: {
      activity: { read: async () => ({ maxRequestsPerSecond: 10, minutes }) },
      budgetStore: { read: async () => ({ nextSlotMs: nowMs + 4_000 }) },
    },
  });

  expect(status).toMatchObject({
    ...{ lastDrain: '2026-11-20T11:59:48.000Z', budget: { reservedSeconds: 4 }, oldestWaitingSeconds: 300 },
  });
  const text = textOf(status, local);
  for (const part of [
    ...[/^waiting: +2$/m, /^oldest waits: +5 min$/m, /^last poll: +12 s ago$/m, /^new request waits: +4 s$/m],
    /15 min: 1,200 ok, 2 rate-limited \(429\), 1 without an answer, 50 ms on average/,
    /rate: 13 % of 10 requests a second used, 100 % in the busiest minute/,
  ])
    expect(text).toMatch(part);
});

const minuteOld = { connectedAt: new Date(nowMs - 60_000).toISOString() };
it.each<[string, GivenStatus, object]>([
  [
    'lags by what passed since its success',
    { feed: { lastSuccess: nowMs - 90_000 } },
    { state: 'polling', reason: null, lagSeconds: 90, lastSuccess: '2026-11-20T11:58:30.000Z' },
  ],
  [
    'lags since it was connected when its last success is in the future',
    { accounts: [minuteOld], feed: { lastSuccess: Date.parse('9999-12-31T23:59:59Z') } },
    { lagSeconds: 60, lastSuccess: null },
  ],
  [
    'is never ahead',
    { accounts: [{ connectedAt: '2026-11-20T12:00:05Z' }], feed: { lastSuccess: nowMs + 99_000 } },
    { lagSeconds: 0 },
  ],
  ['has its last fault', { feed: { problem: feedProblem() } }, { state: 'polling', reason: 'no answer' }],
  ['is stopped', { accounts: [{ ...stop, token }] }, { state: 'stopped', reason: 'refresh-token-rejected' }],
  ['waits for a token', { accounts: [{ holds: [noToken] }] }, { state: 'paused', reason: 'no token' }],
  [
    'is paused until its feed makes sense',
    { feed: { problem: stuckUntil(nowMs + 1) } },
    { state: 'paused', reason: 'three cursors rejected' },
  ],
  ['is not paused any more', { feed: { problem: stuckUntil(nowMs) } }, { state: 'polling' }],
  [
    'names the end of its refresh token',
    { accounts: [{ token }] },
    { needsPerson: false, refreshTokenExpiresAt: '2026-12-20T12:00:00.000Z' },
  ],
  ['has no feed of an earlier life', { feed: { generation: 1, resets: 3 } }, { cursorResets: 0 }],
])('status of a partner account: it %s', async (_title, given, expected) => {
  expect((await statusOf(given)).partnerAccounts).toMatchObject([expected]);
});

it('status keeps repeated deliveries out of the sum, and shows them', async () => {
  const read = async () => ({ ...emptyBooks, listed: 1, events: 1, redelivered: 4 });
  const status = await statusOf({ ports: { bookKeeper: { read, queue: noQueue } } });

  expect(status.partnerAccounts).toMatchObject([{ books: { events: 1 }, redelivered: 4 }]);
  expect(status.partnerAccounts[0]?.books).not.toHaveProperty('redelivered');
  expect(textOf(status, stack)).toMatch(/^redelivered: +4$/m);
});

const names = Array.from({ length: 1000 }, (_, index) => `user-${1000 + index}`);
const ended = names.filter((_, index) => index % 70 === 69);
const reads: string[] = [];
const given: GivenStatus = {
  accounts: names.map((name) => ({
    ...{ name, token, ...(ended.includes(name) && stop) },
    ...(name === 'user-1003' && { holds: [noToken] }),
  })),
  ports: {
    bookKeeper: {
      async read(name) {
        reads.push(name);
        return { ...emptyBooks, listed: 3, events: 2 };
      },
      queue: noQueue,
    },
  },
};

it('status of a thousand accounts shows at most twenty that need somebody', async () => {
  const status = await statusOf(given);
  const lines = textOf(status, local).split('\n');

  expect(lines[0]).toMatch(
    /^Delivering, but not for user-1069, .* and 9 more, and the last requests for user-1003 failed\.$/,
  );
  const head = lines.findIndex((line) => line.startsWith('PARTNER ACCOUNT'));
  expect(lines[head + 1]).toMatch(/^user-1069 +stopped .* refresh-token-rejected$/);
  expect(lines[head + 15]).toMatch(/^user-1003 +paused .* no token$/);
  for (const part of [
    ...['and 980 more', 'all 1,000 partner accounts: 3,000 listed, 2,000 events, ', '14 stopped, 1 paused'],
  ])
    expect(lines.join('\n')).toContain(part);
  expect(lines.length).toBeLessThan(60);
  expect(status.partnerAccounts.map(({ name }) => name)).toEqual(names);
  const needing = status.partnerAccounts.filter((account) => account.needsPerson);
  expect(needing.map(({ name }) => name)).toEqual(ended);
});

it('status reads the books of one account when only that is asked for', async () => {
  reads.length = 0;

  const { partnerAccounts } = await statusOf(given, 'user-1500');

  expect(partnerAccounts.map(({ name }) => name)).toEqual(['user-1500']);
  expect(reads).toEqual(['user-1500']);
});

it('status --watch reports every five seconds until it is stopped', async () => {
  const stopping = new AbortController();
  const sleeps: number[] = [];
  const clock = {
    now: () => 0,
    async sleep(ms: number) {
      sleeps.push(ms);
      if (sleeps.length === 3) stopping.abort();
    },
  };

  const exitCode = await watch(async () => (sleeps.length === 2 ? 3 : 0), clock, stopping.signal);

  expect({ exitCode, sleeps }).toEqual({ exitCode: 3, sleeps: [5_000, 5_000, 5_000] });
});
