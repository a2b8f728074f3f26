import { describe, expect, it } from 'vitest';
import { deliveryText, findingsOf } from '../../../operations/findings.ts';
import { readStatus, type StatusPorts } from '../../../operations/status.ts';
import { emptyBooks } from '../../../shared/domain/books.ts';
import type { PartnerAccount } from '../../../shared/domain/partner-account.ts';
import { serviceHold, stopped } from '../../helpers/holds.ts';
import { feedState, partnerAccount } from '../../helpers/records.ts';

const nowMs = Date.parse('2026-11-20T12:00:00Z');
const minute = 60_000;
const connectedAt = new Date(nowMs).toISOString();

interface Given {
  readonly accounts?: readonly Partial<PartnerAccount>[];
  readonly queue?: {
    readonly waiting: number;
    readonly deadLetters: number;
    readonly oldestListedAt?: string;
  };
  readonly more?: Partial<StatusPorts>;
}

async function found({ accounts = [{}], queue = { waiting: 0, deadLetters: 0 }, more = {} }: Given) {
  const rows = accounts.map((account) => partnerAccount({ connectedAt, ...account }));
  const status = await readStatus(
    {
      partnerAccounts: { list: async () => rows },
      feedStates: {
        list: async () =>
          rows.map(({ name }) => feedState({ partnerAccount: name, lastSuccess: nowMs - 1_000 })),
      },
      bookKeeper: { read: async () => emptyBooks, queue: async () => queue },
      activity: { read: async () => undefined },
      budgetStore: { read: async () => ({ nextSlotMs: 0 }) },
      ...more,
    },
    nowMs,
  );
  const command = (words: string) => `advert-bridge ${words}`;
  const findings = findingsOf(status, { nowMs, kind: 'local', command });
  return { findings, says: deliveryText(status, findings) };
}

const heldBridge = (since: number) => ({
  budgetStore: {
    read: async () => ({ nextSlotMs: 0, holds: [{ ...serviceHold('circuit', nowMs + minute), since }] }),
  },
});
const webhook = (trouble: object) => ({
  webhooks: { list: () => [{ url: 'https://a.example/hook', waiting: 7, trouble }] },
});

describe('the first line of status', () => {
  it.each<[string, Given, RegExp]>([
    ['nothing is wrong', {}, /^Delivering\.$/],
    [
      'one of two accounts is stopped',
      { accounts: [{ name: 'a' }, { name: 'b', ...stopped('refresh-token-rejected') }] },
      /^Delivering, but not for b\.$/,
    ],
    [
      'every account is stopped',
      { accounts: [stopped('refresh-token-rejected')] },
      /^Not delivering: main: the service no longer accepts/,
    ],
    ['the circuit is open', { more: heldBridge(nowMs) }, /^Not delivering: The circuit is open/],
    [
      'nobody runs it while changes wait',
      { queue: { waiting: 3, deadLetters: 0 }, more: { isRunning: () => false } },
      /^Not delivering: No process runs this bridge/,
    ],
    [
      'changes wait for long',
      { queue: { waiting: 3, deadLetters: 0, oldestListedAt: '2026-11-20T11:54:00.000Z' } },
      /^Late since 2026-11-20T11:54:00.000Z/,
    ],
    [
      'somebody has paused it',
      {
        more: {
          budgetStore: {
            read: async () => ({ nextSlotMs: 0, holds: [{ kind: 'operator', who: 'eva', since: nowMs }] }),
          },
        },
      },
      /^Not delivering since .* paused by eva/,
    ],
  ])('where %s', async (_, given, line) => {
    expect((await found(given)).says).toMatch(line);
  });
});

describe('a finding', () => {
  it.each<[string, Given, string, string]>([
    [
      'every advert of an account answers the same fault',
      {
        accounts: [
          {
            holds: [{ ...serviceHold('service', nowMs + minute), since: nowMs - minute, fault: 'transient' }],
          },
        ],
      },
      'held',
      'fault',
    ],
    [
      'a webhook fails',
      { more: webhook({ since: nowMs - minute, reason: '500' }) as Partial<StatusPorts> },
      'webhook',
      'fault',
    ],
    [
      'a webhook is gone',
      { more: webhook({ since: nowMs, reason: '410', gone: true }) as Partial<StatusPorts> },
      'webhook',
      'fault',
    ],
    ['there are dead letters', { queue: { waiting: 0, deadLetters: 1 } }, 'dead-letters', 'attention'],
    ['nobody runs it, and nothing waits', { more: { isRunning: () => false } }, 'not-running', 'note'],
  ])('where %s', async (_, given, what, severity) => {
    const { findings } = await found(given);
    expect(findings.map((one) => ({ what: one.what, severity: one.severity }))).toEqual([{ what, severity }]);
  });

  it('is not made of a backlog that is being worked off', async () => {
    const queue = { waiting: 5_000, deadLetters: 0, oldestListedAt: '2026-11-20T11:55:00.000Z' };
    expect((await found({ queue })).findings).toEqual([]);
  });

  it('is made of few changes that wait for long: every advert answers a fault', async () => {
    const queue = { waiting: 5, deadLetters: 0, oldestListedAt: '2026-11-20T11:59:00.000Z' };
    expect((await found({ queue })).findings).toMatchObject([{ what: 'late', severity: 'fault' }]);
  });

  it('is not made of a hold that has just begun: most end at the first trial', async () => {
    const hold = { ...serviceHold('service', nowMs + minute), since: nowMs - 1_000, fault: 'transient' };
    expect((await found({ accounts: [{ holds: [hold] }] })).findings).toEqual([]);
  });

  it('comes before those that are less bad', async () => {
    const { findings } = await found({
      accounts: [stopped('refresh-token-rejected')],
      queue: { waiting: 0, deadLetters: 1 },
      more: { isRunning: () => false },
    });
    expect(findings.map(({ severity }) => severity)).toEqual(['fault', 'attention', 'note']);
  });
});

it('is made of a hold of the whole bridge, whichever fault made it', async () => {
  const since = nowMs - minute;
  const hold = { ...serviceHold('service', nowMs + minute), since, fault: 'transient' };
  const budgetStore = { read: async () => ({ nextSlotMs: 0, holds: [hold] }) };
  const { findings, says } = await found({ more: { budgetStore } });

  expect(findings).toMatchObject([{ what: 'held', severity: 'fault' }]);
  expect(says).toMatch(/^Not delivering since 2026-11-20T11:59:00.000Z: .*\(transient\)/);
});
