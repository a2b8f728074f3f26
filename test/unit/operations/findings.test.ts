import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { alarmFinding, deliveryText, findingsOf } from '../../../operations/findings.ts';
import { readStatus, type Status, type StatusPorts } from '../../../operations/status.ts';
import { ShapeError } from '../../../shared/contract/checks.ts';
import type { Hold } from '../../../shared/domain/holds.ts';
import type { PartnerAccount } from '../../../shared/domain/partner-account.ts';
import { emptyBooks } from '../../../shared/state/books.ts';
import type { FeedState } from '../../../shared/state/feed-states.ts';
import { serviceHold, stopped, tokenHold } from '../../helpers/holds.ts';
import { feedState, partnerAccount } from '../../helpers/records.ts';

const nowMs = Date.parse('2026-11-20T12:00:00Z');
const minute = 60_000;
const dayMs = 86_400_000;
const connectedAt = new Date(nowMs).toISOString();
const headings = [...readFileSync('docs/operate/runbook.md', 'utf8').matchAll(/^#+ (\S+)$/gm)].map(
  ([, heading = '']) => heading.toLowerCase(),
);

interface Given {
  readonly kind?: 'local' | 'stack';
  readonly accounts?: readonly Partial<PartnerAccount>[];
  /** Of every account; null: they have none. */
  readonly feed?: Partial<FeedState> | null;
  readonly queue?: {
    readonly waiting: number;
    readonly deadLetters: number;
    readonly oldestListedAt?: string;
  };
  readonly holds?: readonly Hold[];
  readonly ports?: Partial<StatusPorts>;
  /** What AWS runs. */
  readonly aws?: Partial<Status>;
}

async function lookAt(given: Given) {
  const { kind = 'local', accounts = [{}], feed = {}, queue, holds, ports, aws } = given;
  const rows = accounts.map((account) => partnerAccount({ connectedAt, ...account }));
  const feeds = feed === null ? [] : rows.map(({ name }) => feedOf(name, feed));
  const status = await readStatus(
    {
      partnerAccounts: { list: async () => rows },
      feedStates: { list: async () => feeds },
      bookKeeper: {
        read: async () => emptyBooks,
        queue: async () => queue ?? { waiting: 0, deadLetters: 0 },
      },
      activity: { read: async () => undefined },
      budgetStore: { read: async () => ({ nextSlotMs: 0, ...(holds && { holds }) }) },
      ...ports,
    },
    nowMs,
  );
  const command = (words: string) => `advert-bridge ${words}`;
  const findings = findingsOf({ ...status, ...aws }, { nowMs, kind, command });
  return { findings, line: deliveryText({ ...status, ...aws }, findings) };
}

const feedOf = (name: string, feed: Partial<FeedState>) =>
  feedState({ partnerAccount: name, lastSuccess: nowMs - 1_000, ...feed });

const lasting = { ...serviceHold('service', nowMs + minute), since: nowMs - minute, fault: 'transient' };
const token = { version: '1', expiresAt: nowMs, usedAt: nowMs };
const withWebhook = (trouble: object): Partial<StatusPorts> => ({
  webhooks: {
    list: () => [
      {
        url: 'https://a.example/hook?key=1',
        ...{ waiting: 7, givenUp: 0 },
        trouble: { since: nowMs, reason: '500', gone: false, ...trouble },
      },
    ],
  },
});
const withAnswers = (counts: Record<string, number>): Partial<StatusPorts> => ({
  activity: {
    read: async () => ({ maxRequestsPerSecond: 10, minutes: { [Math.floor(nowMs / minute) - 1]: counts } }),
  },
});
const booksWith = (inFlight: number, oldestListedAt: string): StatusPorts['bookKeeper'] => ({
  read: async () => ({ ...emptyBooks, listed: inFlight, inFlight }),
  queue: async () => ({ waiting: inFlight, deadLetters: 0, oldestListedAt }),
});
const needy = (faultKind: string, fault: string = faultKind): Given => ({
  accounts: [{ token }],
  feed: { fault, faultKind, needsPerson: true, lastPolled: nowMs + 1 },
});
const unreadable: StatusPorts['feedStates'] = {
  async list(onUnreadable) {
    onUnreadable?.(new ShapeError('state of feed main/adverts', [{ path: 'since', expected: 'a time' }]));
    return [];
  },
};
const notRunning = { isRunning: () => false };
const long = '2026-11-20T11:54:00.000Z';

/** Every rule, on a bridge with one partner account: what is wrong, the finding, its severity, and what mends it. */
const rules: readonly [string, Given, string, RegExp | null][] = [
  ['nobody is connected', { accounts: [] }, 'no-account note', /connect NAME/],
  [
    'an older copy of the state',
    { ports: { reusedHistories: (accounts) => accounts } },
    'older-copy fault',
    /connect --all --new-history/,
  ],
  ['no process, nothing waits', { ports: notRunning }, 'not-running note', /run$/],
  [
    'no process, a feed lags',
    { ports: notRunning, feed: { lastSuccess: nowMs - 10 * minute } },
    'not-running attention',
    /run$/,
  ],
  [
    'no process, changes wait for long',
    { ports: notRunning, queue: { waiting: 3, deadLetters: 0, oldestListedAt: long } },
    'not-running fault',
    /run$/,
  ],
  [
    'the circuit is open',
    { holds: [serviceHold('circuit', nowMs + minute)] },
    'circuit fault',
    /resume --early/,
  ],
  [
    'the circuit is on trial',
    { holds: [serviceHold('circuit', nowMs - 1)] },
    'circuit fault',
    /resume --early/,
  ],
  ['429', { holds: [serviceHold('service', nowMs + minute)] }, 'rate-limited note', /resume --early/],
  ['one fault for everybody', { holds: [lasting] }, 'held fault', null],
  ['one fault for everybody, just now', { holds: [{ ...lasting, since: nowMs - 1_000 }] }, 'held note', null],
  ['one fault for the account', { accounts: [{ holds: [lasting] }] }, 'held fault', null],
  [
    'a paused bridge',
    { holds: [{ kind: 'operator', who: 'eva', since: nowMs }] },
    'operator-paused attention',
    /resume$/,
  ],
  [
    'a paused account',
    { accounts: [{ holds: [{ kind: 'operator', who: 'eva', since: nowMs }] }] },
    'operator-paused attention',
    /resume main$/,
  ],
  [
    'few changes wait for long: their adverts are not answered',
    { queue: { waiting: 5, deadLetters: 0, oldestListedAt: '2026-11-20T11:59:00.000Z' } },
    'late fault',
    null,
  ],
  [
    'a wait beside an account whose every advert is refused, while its feed is read',
    {
      // Each success of the feed ends the hold, and the next refused advert makes it anew.
      accounts: [{ holds: [{ ...lasting, since: nowMs - 1_000 }] }],
      ports: {
        ...withAnswers({ ok: 24, 'token-rejected': 25, ms: 100 }),
        bookKeeper: booksWith(47, '2026-11-20T11:59:25.000Z'),
      },
    },
    'late fault',
    null,
  ],
  [
    'dead letters',
    { queue: { waiting: 0, deadLetters: 1 } },
    'dead-letters attention',
    /dead-letters redrive --all/,
  ],
  [
    'a webhook that fails',
    { ports: withWebhook({ since: nowMs - minute }) },
    'webhook fault',
    /webhook URL --forget/,
  ],
  ['a webhook that is gone', { ports: withWebhook({ gone: true }) }, 'webhook fault', /webhook URL --forget/],
  [
    'an unreadable row',
    { ports: { feedStates: unreadable } },
    'unreadable-row fault',
    /docs\/operate\/backup\.md/,
  ],
  [
    'a raised alarm',
    { aws: { alarms: [{ name: 'LateEvents', says: 'x', since: null }] } },
    'alarm attention',
    null,
  ],
  ['a denied look', { aws: { unseen: ['the alarms (denied)'] } }, 'unseen attention', /deploy\.md#/],
  ...(['table', 'schedule', 'mapping'] as const).map(
    (of) =>
      [
        `a ${of} that is off`,
        { kind: 'stack', aws: { resourceFaults: [{ of, says: 'it is off', mend: 'aws x' }] } },
        `${of} fault`,
        /aws x/,
      ] satisfies (typeof rules)[number],
  ),
  [
    'a dead refresh token',
    { accounts: [stopped('refresh-token-rejected')] },
    'refresh-token-rejected fault',
    /connect main/,
  ],
  [
    'too small a scope',
    { accounts: [stopped('scope-insufficient')] },
    'scope-insufficient fault',
    /connect main/,
  ],
  ['a wrong client secret', needy('client-rejected'), 'client-rejected fault', /application --base-url/],
  [
    'an empty application secret',
    needy('malformed-state', 'secret advert-bridge/application: expected an object'),
    'malformed-state fault',
    /application --base-url/,
  ],
  [
    'a damaged secret',
    needy('malformed-state', 'secret advert-bridge/partner-accounts/main: expected JSON'),
    'malformed-state fault',
    /connect main/,
  ],
  ['no service at the base URL', needy('wrong-path'), 'wrong-path fault', /application --base-url/],
  [
    'no service at the base URL of a stack',
    { ...needy('wrong-path'), kind: 'stack' },
    'wrong-path fault',
    /npx cdk deploy -c partnerBaseUrl=URL/,
  ],
  ['a missing table or a denied call', needy('resource-unusable'), 'resource-unusable fault', /doctor/],
  ['a fault of a newer bridge', needy('never-heard-of'), 'never-heard-of fault', null],
  [
    'a token that cannot be sent',
    { accounts: [{ holds: [tokenHold(nowMs + 1, 'token-answer-broken')] }] },
    'token-answer-broken fault',
    /connect main/,
  ],
  [
    'a cursor that does not move',
    { feed: { pausedUntil: nowMs + 1, fault: 'three', faultKind: 'contract-broken', needsPerson: true } },
    'feed-stuck fault',
    /resync main --since TIME/,
  ],
  ['a feed that lags', { feed: { lastSuccess: nowMs - 301_000 } }, 'lagging fault', null],
  [
    'no feed',
    { feed: null, accounts: [{ connectedAt: new Date(nowMs - minute).toISOString() }] },
    'feed-missing fault',
    /connect main/,
  ],
  [
    'a refresh token without use',
    { accounts: [{ token: { ...token, usedAt: nowMs - 23 * dayMs } }] },
    'refresh-token-dying attention',
    /connect main/,
  ],
];

describe('the one finding', () => {
  it.each(rules)('when there is %s', async (_, given, expected, mend) => {
    const { findings } = await lookAt(given);

    expect(findings.map(({ what, severity }) => `${what} ${severity}`)).toEqual([expected]);
    expect(findings[0]?.mend ?? '').toMatch(mend ?? /^$/);
    const { runbook } = findings[0] ?? expect.fail('one');
    if (runbook !== null) expect(headings).toContain(runbook);
  });
});

describe('nothing is found', () => {
  it.each<[string, Given]>([
    ['all is well', {}],
    ['a process runs it', { ports: { isRunning: () => true }, queue: { waiting: 3, deadLetters: 0 } }],
    ['a feed lags no longer than the alarm allows', { feed: { lastSuccess: nowMs - 300_000 } }],
    ['a backlog is worked off', { queue: { waiting: 5_000, deadLetters: 0, oldestListedAt: long } }],
    [
      'changes wait for half a minute, and a single advert is refused',
      {
        queue: { waiting: 47, deadLetters: 0, oldestListedAt: '2026-11-20T11:59:25.000Z' },
        ports: withAnswers({ ok: 24, 'token-rejected': 4, ms: 100 }),
      },
    ],
    ['a hold has just begun', { accounts: [{ holds: [{ ...lasting, since: nowMs - 1_000 }] }] }],
    ['a webhook has just failed', { ports: withWebhook({}) }],
    [
      'what waits is of an account that was disconnected',
      { accounts: [stopped('disconnected')], ports: { bookKeeper: booksWith(9, long) } },
    ],
    [
      'a refresh token has time enough',
      { accounts: [{ token: { ...token, usedAt: nowMs - 23 * dayMs + 1 } }] },
    ],
    [
      'a feed is about to be registered',
      { feed: null, accounts: [{ connectedAt: new Date(nowMs - 59_999).toISOString() }] },
    ],
    [
      'the fault is of a token that was replaced',
      {
        accounts: [{ token }],
        feed: { fault: 'x', faultKind: 'account-stopped', needsPerson: true, lastPolled: nowMs - 1 },
      },
    ],
  ])('when %s', async (_, given) => {
    expect((await lookAt(given)).findings).toEqual([]);
  });
});

it('puts the worst first', async () => {
  const { findings } = await lookAt({
    accounts: [stopped('refresh-token-rejected')],
    ports: notRunning,
    queue: { waiting: 0, deadLetters: 1 },
  });

  expect(findings.map(({ severity }) => severity)).toEqual(['fault', 'attention', 'note']);
});

it('takes the page of a raised alarm from its description', () => {
  const says = 'Severity: high. Events are late. Runbook: https://wiki.example/bridge#lateevents';

  expect(alarmFinding({ name: 'LateEvents', says, since: null })).toMatchObject({
    says: 'The alarm LateEvents is raised. Events are late.',
    ...{ mend: 'https://wiki.example/bridge#lateevents', runbook: 'lateevents' },
  });
});

describe('the first line of status', () => {
  const bad = stopped('refresh-token-rejected');
  it.each<[string, Given, RegExp]>([
    ['nothing is wrong', {}, /^Delivering\.$/],
    [
      'one account is stopped',
      { accounts: [{ name: 'a' }, { name: 'b', ...bad }] },
      /^Delivering, but not for b\.$/,
    ],
    [
      'many accounts are stopped',
      { accounts: [{ name: 'z' }, ...['a', 'b', 'c', 'd', 'e', 'f'].map((name) => ({ name, ...bad }))] },
      /^Delivering, but not for a, b, c, d, e and 1 more\.$/,
    ],
    ['every account is stopped', { accounts: [bad] }, /^Not delivering: main: /],
    [
      'every account is stopped and a webhook fails',
      { accounts: [bad], ports: withWebhook({ gone: true }) },
      /^Not delivering: main: /,
    ],
    [
      'a webhook is gone',
      { ports: withWebhook({ gone: true }) },
      /^Delivering, but not to https:\/\/a\.example\/hook/,
    ],
    [
      'the circuit is open',
      { holds: [serviceHold('circuit', nowMs)] },
      /^Not delivering: The circuit is open/,
    ],
    ['the service gives one fault', { holds: [lasting] }, /^Not delivering since 2026-11-20T11:59:00.000Z: /],
    [
      'the service asks to wait',
      { holds: [serviceHold('service', nowMs + minute)] },
      /^Late since .* 12:01:00|^Late since .*T12:01:00/,
    ],
    ['nobody runs it', { ports: notRunning }, /^Not delivering: No process/],
    [
      'nobody runs it any more',
      { ports: notRunning, feed: { lastPolled: nowMs - minute } },
      /^Not delivering since 2026-11-20T11:59:00.000Z: No process/,
    ],
    ['nobody is connected', { accounts: [] }, /^Not delivering: No partner account is connected/],
    [
      'changes wait for long',
      { queue: { waiting: 3, deadLetters: 0, oldestListedAt: long } },
      /^Late since 2026-11-20T11:54:00.000Z/,
    ],
    [
      'somebody has paused it',
      { holds: [{ kind: 'operator', who: 'eva', since: nowMs }] },
      /^Not delivering since .* eva/,
    ],
  ])('when %s', async (_, given, line) => {
    expect((await lookAt(given)).line).toMatch(line);
  });
});
