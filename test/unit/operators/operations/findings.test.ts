import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import errors from '../../../../operators/operations/errors.json' with { type: 'json' };
import { failed } from '../../../../operators/operations/errors.ts';
import {
  deliveryVerdict,
  type Finding,
  findingsOf,
} from '../../../../operators/operations/findings/findings.ts';
import type { ResourceFault, Status } from '../../../../operators/operations/printed.ts';
import type { StatusPorts } from '../../../../operators/operations/status.ts';
import { ShapeError } from '../../../../shared/contract/checks.ts';
import type { ChangedAdvert } from '../../../../shared/contract/messages.ts';
import type { Hold } from '../../../../shared/domain/holds.ts';
import type { PartnerAccount } from '../../../../shared/domain/partner-account.ts';
import type { AlarmName } from '../../../../shared/findings/finding.ts';
import problems from '../../../../shared/findings/problems.json' with { type: 'json' };
import { filled } from '../../../../shared/findings/sentences.ts';
import { emptyBooks } from '../../../../shared/state/books.ts';
import type { FeedProblem } from '../../../../shared/state/feed-states.ts';
import { serviceHold, stopped, tokenHold } from '../../../helpers/holds.ts';
import { changedAdvert, feedProblem, stuckUntil } from '../../../helpers/records.ts';
import { type GivenPorts, type GivenStatus, nowMs, statusOf } from './bridge-status.ts';

const minute = 60_000;
const at = (ms: number) => new Date(nowMs + ms).toISOString();
const headings = [...readFileSync('docs/operate/runbook.md', 'utf8').matchAll(/^#+ (\S+)$/gm)].map(
  ([, heading = '']) => heading.toLowerCase(),
);

interface Given extends GivenStatus {
  readonly kind?: 'local' | 'stack';
  /** What AWS runs. */
  readonly aws?: Partial<Status>;
}

async function lookAt({ kind = 'local', aws, ...given }: Given) {
  const status = { ...(await statusOf(given)), ...aws };
  const command = (words: string) => `advert-bridge ${words}`;
  const findings = findingsOf(status, { nowMs, kind, command });
  return { findings, line: deliveryVerdict(status, findings).says };
}

const one = (account: Partial<PartnerAccount>): Given => ({ accounts: [account] });
const lasting = { ...serviceHold('service', nowMs + minute), since: nowMs - minute, fault: 'transient' };
const beginning = { ...lasting, since: nowMs - 1_000 };
const pause = { kind: 'operator', who: 'eva', since: nowMs } as const;
const token = { version: '1', expiresAt: nowMs, usedAt: nowMs };
const unused = (more: number) => one({ token: { ...token, usedAt: nowMs - 23 * 86_400_000 + more } });
const connected = (ms: number): Given => ({ feed: null, accounts: [{ connectedAt: at(ms) }] });
const circuit = (ms: number): Given => ({ holds: [serviceHold('circuit', nowMs + ms)] });
const webhook = (change: object): Given => {
  const trouble = { since: nowMs, reason: '500', gone: false, ...change };
  const url = 'https://a.example/hook?key=1';
  return { host: { webhooks: { list: () => [{ url, waiting: 7, givenUp: 0, trouble }] } } };
};
const backlog = (waiting: number): Given => {
  const list = () => [{ url: 'https://a.example/', waiting, givenUp: 3, maxEvents: 1_000 }];
  return { host: { webhooks: { list } } };
};
const ofOutput = (waiting: number): Given => ({
  host: { outputEvents: () => ({ waiting, givenUp: 3, maxEvents: 1_000 }) },
});
const withAnswers = (counts: Record<string, number>): GivenPorts => ({
  activity: {
    read: async () => ({ maxRequestsPerSecond: 10, minutes: { [Math.floor(nowMs / minute) - 1]: counts } }),
  },
});
const booksWith = (inFlight: number, oldestListedAt: string): StatusPorts['bookKeeper'] => ({
  read: async () => ({ ...emptyBooks, listed: inFlight, inFlight }),
  queue: async () => ({ waiting: inFlight, deadLetters: 0, oldestListedAt }),
});
interface IllAdverts {
  readonly ids?: readonly string[];
  readonly change?: Partial<ChangedAdvert>;
}
/** Adverts that failed, of which some have a history; the last has failed for so long. */
const illAdverts = (
  ms: number,
  histories: Record<string, object | 'denied'>,
  { ids = Object.keys(histories), change = {} }: IllAdverts = {},
): Given => ({
  ports: {
    bookKeeper: {
      read: async () => ({ ...emptyBooks, listed: ids.length, inFlight: ids.length }),
      queue: async () => ({ waiting: ids.length, deadLetters: 0 }),
    },
    aside: {
      failed: async () =>
        ids.map((advertId, index) => {
          const failed = { times: 3, waitedMs: index === ids.length - 1 ? ms : 0 };
          const message = changedAdvert({ advertId, listedAt: at(-60 * minute), failed, ...change });
          return { key: { kind: 'aside', name: advertId }, etag: 'x', message } as const;
        }),
    },
    advertHistories: {
      async read({ advertId }) {
        const history = histories[advertId] ?? expect.fail('unread');
        if (history === 'denied') throw new Error('AccessDeniedException');
        return { ...emptyHistory, ...history };
      },
    },
  },
});
const emptyHistory = { sequence: 1, status: 'active', pending: false, etag: 'absent' } as const;
const elevenIds = Array.from({ length: 11 }, (_, index) => String(index));
const needy = (kind: string, reason: string = kind): Given => ({
  ...one({ token }),
  feed: {
    problem: feedProblem({ kind, reason, since: nowMs, needsAttention: true }),
    ...{ lastPolled: nowMs + 1, lastSuccess: nowMs - 10 * minute },
  },
});
const unreadable: GivenPorts['feedStates'] = {
  async list(onUnreadable) {
    const error = new ShapeError('state of feed main/adverts', [{ path: 'since', expected: 'a time' }]);
    onUnreadable?.(error, { name: 'main/adverts' });
    return [];
  },
};
/** The polls of this account's feed have failed for so long. */
const failing = (ms: number, more: Partial<FeedProblem> = {}): Given => ({
  feed: {
    problem: feedProblem({ reason: '503', since: nowMs - ms, ...more }),
    ...{ lastPolled: nowMs, lastSuccess: nowMs - ms - 5_000 },
  },
});
const paused429 = (since: number, until: number): Given => ({
  holds: [{ ...serviceHold('service', nowMs + until), since: nowMs + since }],
});
const idle: Given = { host: { isRunning: () => false } };
/** No process runs it: the latest run ended by itself so long ago, and they come every ten minutes. */
const betweenRuns = (agoMs: number, everySeconds: number | null = 600): Given => ({
  host: { ...idle.host, idleRun: async () => ({ endedAt: at(-agoMs), everySeconds }) },
});
const waiting = (number: number, ms: number) => ({ queue: { waiting: number, oldestListedAt: at(ms) } });
const resourceFacts = {
  name: 'x',
  status: 'gone',
  state: 'disabled',
  invokes: 'y',
  update: 'aws x',
  uuid: 'z',
};
const ofAws = (of: ResourceFault['of'], code: string = of): Given => ({
  kind: 'stack',
  aws: { resourceFaults: [{ of, code, facts: { ...resourceFacts, result: 'PROBLEM' } }] },
});
const noProgress = { problem: stuckUntil(nowMs + 1) };

const ofIll = ['failing attention', /resume main --advert 1$/] as const;

/** Every rule, on a bridge with one partner account: what is wrong, the finding, its severity, and what mends it. */
const rules: readonly [string, Given, string, RegExp | null][] = [
  ['no account', { accounts: [] }, 'no-account note', /connect NAME/],
  [
    'no account that is still connected, for what waits',
    {
      ...one(stopped('disconnected')),
      ...idle,
      ports: { bookKeeper: booksWith(5, at(-6 * minute)) },
    },
    ...(['no-account note', /connect main/] as const),
  ],
  ['an old copy', { host: { reusedHistories: (all) => all } }, 'older-copy fault', /--all --new-history/],
  ['no process', idle, 'not-running attention', /run$/],
  ['no process and a feed that lags', { ...failing(10 * minute), ...idle }, 'not-running attention', /run$/],
  [
    'no process for what waits',
    { ...idle, ports: { bookKeeper: booksWith(3, at(-6 * minute)) } },
    ...(['not-running fault', /run$/] as const),
  ],
  ['no process between two regular runs', betweenRuns(21 * minute), 'not-running note', null],
  ['no process after two missed runs', betweenRuns(21 * minute + 1), 'not-running attention', /run$/],
  ['no process after a first run', betweenRuns(0, null), 'not-running attention', /run$/],
  ['an open circuit', circuit(minute), 'circuit fault', /resume --early/],
  ['a circuit on trial', circuit(-1), 'circuit fault', /resume --early/],
  ['429', paused429(0, minute), 'rate-limited note', /resume --early/],
  ['429 for longer than a minute', paused429(0, minute + 1), 'rate-limited attention', /resume --early/],
  ['429 again and again', paused429(-minute, 1_000), 'rate-limited attention', /resume --early/],
  [
    '429 again and again, between two pauses',
    { ...paused429(-minute - 1, -1), ...failing(minute), ...waiting(9, -minute) },
    ...(['rate-limited attention', /resume --early/] as const),
  ],
  ['one fault for everybody', { holds: [lasting] }, 'held fault', /resume --early/],
  [
    'one fault for everybody, and polls fail',
    { ...failing(minute), holds: [lasting] },
    'held fault',
    /resume --early/,
  ],
  ['one fault for everybody, just now', { holds: [beginning] }, 'held note', /resume --early/],
  ['one fault for the account', one({ holds: [lasting] }), 'held fault', /resume main --early/],
  ['an advert that fails', illAdverts(2 * minute, { 1: { fault: 'forbidden' } }), ...ofIll],
  ['an advert that nobody knows any more', illAdverts(2 * minute, { 1: { missingSince: 1 } }), ...ofIll],
  [
    'an advert that fails beside one that waits for its last look',
    illAdverts(2 * minute, { 1: { fault: 'transient' }, 2: {} }, { ids: ['2', '1'] }),
    ...ofIll,
  ],
  ['an advert that fails, whose history is not shown', illAdverts(2 * minute, { 1: 'denied' }), ...ofIll],
  [
    'an advert that fails while the whole bridge waits',
    { ...illAdverts(2 * minute, { 1: { fault: 'transient' } }), ...paused429(-1_000, 5_000) },
    ...(['rate-limited note', /resume --early/] as const),
  ],
  ['a paused bridge', { holds: [pause] }, 'operator-paused attention', /resume$/],
  ['a paused account', one({ holds: [pause] }), 'operator-paused attention', /resume main$/],
  ['few changes that wait for long', waiting(5, -minute), 'late fault', /history NAME ADVERT/],
  [
    'a wait beside an account whose every advert is refused, while its feed is read',
    {
      // Each success of the feed ends the hold, and the next refused advert makes it anew.
      ...one({ holds: [beginning] }),
      ports: {
        ...withAnswers({ ok: 24, 'token-rejected': 25, ms: 100 }),
        bookKeeper: booksWith(47, at(-35_000)),
      },
    },
    ...(['late fault', /history main ADVERT/] as const),
  ],
  ['a dead letter', { queue: { deadLetters: 1 } }, 'dead-letters attention', /dead-letters redrive --all/],
  ['a webhook that fails', webhook({ since: nowMs - minute }), 'webhook fault', /webhook$/],
  ['a webhook that is gone', webhook({ gone: true }), 'webhook fault', /webhook$/],
  [
    'standard output that takes nothing',
    { host: { outputTrouble: () => ({ reason: 'ENOSPC', since: nowMs, gone: false }) } },
    'output fault',
    null,
  ],
  ['a webhook for which soon too many events wait', backlog(800), 'backlog attention', null],
  ['a webhook for which too many events wait', backlog(1_000), 'backlog fault', null],
  ['standard output for which soon too many wait', ofOutput(800), 'backlog attention', null],
  ['an unreadable row', { ports: { feedStates: unreadable } }, 'unreadable-row fault', /backup\.md/],
  [
    'a raised alarm',
    { aws: { alarms: [{ name: 'LateEvents', says: 'x', since: null }] } },
    ...(['alarm fault', null] as const),
  ],
  ['a denied look', { aws: { unseen: ['the alarms (denied)'] } }, 'unseen attention', /deploy\.md#/],
  ['a table that is gone', ofAws('table'), 'table fault', /backup\.md#restoring/],
  ['a schedule that is gone', ofAws('schedule', 'schedule-missing'), 'schedule fault', /--revert-drift$/],
  ['a schedule that is off', ofAws('schedule', 'schedule-changed'), 'schedule fault', /^aws x$/],
  ['no mapping', ofAws('mapping', 'mapping-missing'), 'mapping fault', /--revert-drift$/],
  ['a mapping that is off', ofAws('mapping', 'mapping-disabled'), 'mapping fault', /--uuid z --enabled$/],
  [
    'a mapping that lets Lambda delete what failed',
    ofAws('mapping', 'mapping-deletes-failed'),
    ...(['mapping fault', /ReportBatchItemFailures$/] as const),
  ],
  ['a mapping that is stuck', ofAws('mapping', 'mapping-blocked'), 'mapping fault', /--revert-drift$/],
  ['a function that is gone', ofAws('function', 'function-gone'), 'function fault', /--revert-drift$/],
  ['a function that may not run', ofAws('function', 'function-stopped'), 'function fault', /-name x$/],
  [
    "a connected account's secret that is deleted soon",
    { aws: { secretsToBeDeleted: ['advert-bridge/partner-accounts/main'] } },
    ...([
      'secret-deleted fault',
      /restore-secret --secret-id advert-bridge\/partner-accounts\/main$/,
    ] as const),
  ],
  [
    "the application's secret that is deleted soon",
    { aws: { secretsToBeDeleted: ['advert-bridge/application'] } },
    ...(['secret-deleted fault', /restore-secret --secret-id advert-bridge\/application$/] as const),
  ],
  [
    'a queue whose age is not known',
    { kind: 'stack', queue: { waiting: 3 }, aws: { mapping: 'enabled' } },
    ...(['age-unknown attention', /status/] as const),
  ],
  [
    'a dead refresh token',
    one(stopped('refresh-token-rejected')),
    ...(['refresh-token-rejected fault', /connect main/] as const),
  ],
  ['too small a scope', one(stopped('scope-insufficient')), 'scope-insufficient fault', /connect main/],
  ['a wrong client secret', needy('client-rejected'), 'client-rejected fault', /application --base-url/],
  [
    'an empty application secret',
    needy('malformed-application'),
    'malformed-application fault',
    /application --base-url/,
  ],
  ['a damaged secret', needy('malformed-pair'), 'malformed-pair fault', /connect main/],
  ['a damaged row', needy('malformed-state'), 'malformed-state fault', /backup\.md/],
  ['no service at the base URL', needy('wrong-path'), 'wrong-path fault', /application --base-url/],
  [
    'no service at the base URL of a stack',
    { ...needy('wrong-path'), kind: 'stack' },
    ...(['wrong-path fault', /npx cdk deploy -c partnerBaseUrl=URL/] as const),
  ],
  ['a missing table or a denied call', needy('resource-unusable'), 'resource-unusable fault', /doctor/],
  ['a fault of a newer bridge', needy('never-heard-of'), 'never-heard-of fault', null],
  [
    'a token that cannot be sent',
    one({ holds: [tokenHold(nowMs + 1, 'token-answer-broken')] }),
    ...(['token-answer-broken fault', /connect main/] as const),
  ],
  [
    'a token that cannot be renewed for half a minute',
    one({ holds: [{ ...tokenHold(nowMs + 1, 'token-not-renewed'), since: nowMs - 30_000 }] }),
    ...(['token-not-renewed fault', /resume main --early/] as const),
  ],
  [
    'a client secret that is refused when the token has run out',
    one({ holds: [tokenHold(nowMs + 1, 'client-rejected')] }),
    ...(['client-rejected fault', /application --base-url/] as const),
  ],
  ['a cursor that does not move', { feed: noProgress }, 'feed-stuck fault', /poll main$/],
  ['a feed whose last poll failed', failing(0), 'poll-failed attention', null],
  ['a feed whose last two polls failed', failing(1), 'unread fault', null],
  [
    'a feed that a hold kept from its last polls',
    failing(1, { kind: 'paused' }),
    'poll-failed attention',
    null,
  ],
  ['a feed that lags', { feed: { lastSuccess: nowMs - 301_000 } }, 'lagging fault', null],
  ['no feed', connected(-minute), 'feed-missing fault', /connect main/],
  ['a refresh token without use', unused(0), 'refresh-token-dying attention', /connect main/],
];

it.each(rules)('the one finding is right when there is %s', async (_, given, expected, mend) => {
  const { findings } = await lookAt(given);

  expect(findings.map(({ what, severity }) => `${what} ${severity}`)).toEqual([expected]);
  expect(findings[0]?.mend ?? '').toMatch(mend ?? /^$/);
  expect(JSON.stringify(Object.values(findings[0] ?? {}).filter(Boolean))).not.toMatch(/[{}]|undefined|null/);
  const { runbook, page, mend: found } = findings[0] ?? expect.fail('one');
  expect(page).toBe(found?.startsWith('docs/') ? found : null);
  if (runbook !== null) expect(headings).toContain(runbook);
});

it.each<[string, Given, RegExp]>([
  [
    'one',
    illAdverts(2 * minute, { 1: { fault: 'forbidden' } }),
    /^main: advert 1 fails \(forbidden\): tried again, ever less often, and given up after some tries/,
  ],
  [
    'two',
    illAdverts(2 * minute, { 1: { missingSince: 1 }, 2: { fault: 'transient' } }),
    /^main: 2 adverts fail, 2 for the longest \(transient\): .* and given up after a day, but/,
  ],
  [
    'one, listed twice',
    illAdverts(2 * minute, { 1: { fault: 'forbidden' } }, { ids: ['1', '1'] }),
    /^main: advert 1 fails \(forbidden\): tried again, ever less often, and given up after some tries/,
  ],
  [
    'one that is gone',
    illAdverts(2 * minute, { 1: { missingSince: 1 } }),
    /^main: advert 1 fails \(not-found\): .* and gone once another advert is answered well/,
  ],
  [
    'ten or more',
    illAdverts(2 * minute, Object.fromEntries(elevenIds.map((id) => [id, { fault: 'transient' }]))),
    /^main: 10 or more adverts fail, 10 for the longest \(transient\): tried/,
  ],
])('the adverts that fail are named: %s', async (_count, given, says) => {
  const { findings, line } = await lookAt(given);

  expect(findings[0]).toMatchObject({ says: expect.stringMatching(says), since: at(-2 * minute) });
  expect(line).toBe('Delivering, but not the adverts that fail.');
});

it.each<[string, Hold, string]>([
  ['fails', { ...lasting, until: nowMs - 1 }, 'held'],
  ['waits for a person', pause, 'operator-paused'],
])('an account whose every advert %s has one finding', async (_how, hold, expected) => {
  const { findings } = await lookAt({
    ...one({ holds: [hold] }),
    ...illAdverts(2 * minute, { 1: { fault: 'transient' } }),
  });
  expect(findings.map(({ what }) => what)).toEqual([expected]);
});

it('only the rows of accounts with changes in flight are read', async () => {
  const { findings } = await lookAt({ ports: { aside: { failed: () => expect.fail('read') } } });
  expect(findings).toEqual([]);
});

it.each([
  [
    'a feed is polled again',
    failing(1, { wait: { until: nowMs + 9_000, forMs: 9_000, why: 'failing' } }),
    at(9_000),
  ],
  ['the hold of an account ends', one({ holds: [lasting] }), at(minute)],
  ['nothing waits', {}, null],
])('status names the next trial when %s', async (_, given: Given, expected) => {
  const { partnerAccounts } = await statusOf(given);

  expect(partnerAccounts[0]?.nextTrial).toBe(expected);
});

it.each<[string, Given]>([
  ['all is well', {}],
  ['a process runs it', { host: { isRunning: () => true }, queue: { waiting: 3 } }],
  ['a feed lags no longer than the alarm allows', { feed: { lastSuccess: nowMs - 300_000 } }],
  ['a backlog is worked off', waiting(5_000, -6 * minute)],
  [
    'changes wait for half a minute, and a single advert is refused',
    { ...waiting(47, -35_000), ports: withAnswers({ ok: 24, 'token-rejected': 4, ms: 100 }) },
  ],
  ['a hold has just begun', one({ holds: [beginning] })],
  [
    'the first renewal of a token failed',
    one({ holds: [{ ...tokenHold(nowMs + 1, 'token-not-renewed'), since: nowMs - 1_000 }] }),
  ],
  ['a webhook has just failed', webhook({})],
  [
    'an advert has failed for less than two minutes',
    illAdverts(2 * minute - 1, { 1: { fault: 'transient' } }),
  ],
  ['an advert waits for its last look', illAdverts(2 * minute, { 1: {} })],
  [
    'an advert that waited long has just begun to fail',
    illAdverts(2 * minute - 1, { 1: { fault: 'transient' } }, { change: { listedAt: at(-9 * 60 * minute) } }),
  ],
  [
    'an advert has just been listed',
    illAdverts(2 * minute, { 1: { fault: 'transient' } }, { change: { listedAt: at(-1_000) } }),
  ],
  [
    'an advert of a former user fails',
    illAdverts(2 * minute, { 1: { fault: 'forbidden' } }, { change: { generation: 7 } }),
  ],
  ['fewer than four fifths of the events that may wait for a webhook do', backlog(799)],
  ['a refresh token has time enough', unused(1)],
  ['a feed is about to be registered', connected(-59_999)],
  [
    'the fault is of a token that was replaced',
    {
      ...one({ token }),
      feed: {
        problem: feedProblem({ kind: 'account-stopped', needsAttention: true }),
        lastPolled: nowMs - 1,
      },
    },
  ],
])('nothing is found when %s', async (_, given) => {
  expect((await lookAt(given)).findings).toEqual([]);
});

const bad = stopped('refresh-token-rejected');

it('says how long what waits takes, unless requests go out one by one', async () => {
  const late = { bookKeeper: booksWith(300, at(-3 * minute)) };
  const [open] = (await lookAt({ ports: late })).findings;
  const [slowed] = (await lookAt({ ...one({ holds: [beginning] }), ports: late })).findings;

  expect(open?.says).toContain('the oldest for 180 s, which takes at most 60 s: ');
  expect(slowed?.says).toContain('the oldest for 180 s: ');
});

it.each([
  [{ at: 'noon', n: 0 }, 'it ended at noon, 0 times'],
  [{ at: null, n: 2 }, 'it ended, 2 times'],
  [{ at: '', n: undefined }, 'it ended'],
])('a sentence leaves out the bracketed part that has no fact: %j', (facts, expected) => {
  expect(filled('it ended[ at {at}][, {n} times]', facts, { command: String })).toBe(expected);
});

it('the worst finding is the first', async () => {
  const { findings } = await lookAt({ ...one(bad), holds: [beginning], queue: { deadLetters: 1 } });

  expect(findings.map(({ severity }) => severity)).toEqual(['fault', 'attention', 'note']);
});

it('a raised alarm says what its entry in the catalogue says', async () => {
  const names = Object.keys(problems.alarm) as AlarmName[];
  const alarms = names.map((name) => ({ name, says: 'Severity: none. An older text.', since: null }));

  const { findings } = await lookAt({ aws: { alarms } });

  expect(findings.filter(({ severity }) => severity === 'attention')).toHaveLength(5);
  for (const name of names) {
    const { severity, runbook } = problems.alarm[name];
    const says = expect.stringMatching(new RegExp(`^The alarm ${name} is raised\\. [A-Z][^{}[\\]]+\\.$`));
    expect(findings).toContainEqual(expect.objectContaining({ says, severity, runbook, advice: null }));
  }
});

it('each problem can be shown, or names another one that can', () => {
  const entries = [problems.bridge, problems.account] as readonly Record<string, Partial<Finding> | string>[];
  for (const [code, entry] of entries.flatMap(Object.entries<Partial<Finding> | string>)) {
    if (typeof entry === 'string') expect(entries.some((all) => typeof all[entry] === 'object')).toBe(true);
    else {
      const { severity = '', says = '', stops = 'nothing', runbook } = entry;
      expect([code, severity, stops, says]).toEqual([
        ...[code, expect.stringMatching(/^(fault|attention|note)$/)],
        ...[
          expect.stringMatching(
            new RegExp(`^(all|late|nothing|${Object.keys(problems.delivery.exceptions).join('|')})$`),
          ),
        ],
        expect.stringMatching(entries[1]?.[code] === entry ? /[^.]$/ : /[.}]\]?$/),
      ]);
      if (runbook) expect(headings).toContain(runbook);
    }
  }
});

describe('the first line of status', () => {
  const all = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => ({ name, ...bad }));
  it.each<[string, Given, RegExp]>([
    ['no feed can be read', failing(minute), /^Not delivering since 2026-11-20T11:58:55.000Z: main: .*503/],
    [
      'one feed cannot be read, and one is disconnected',
      { ...failing(minute), accounts: [{ name: 'a' }, { name: 'b', ...stopped('disconnected') }] },
      /^Not delivering since .*: a: /,
    ],
    [
      'one account is paused',
      { accounts: [{ name: 'a' }, { name: 'b', holds: [pause] }] },
      /^Delivering, but not for b\.$/,
    ],
    ['the only account is paused', one({ holds: [pause] }), /^Not delivering since .*: main: paused by eva/],
    [
      'a row cannot be read',
      { ports: { feedStates: unreadable } },
      /^Delivering, but not what cannot be read\.$/,
    ],
    ['events are given up', backlog(1_000), /^Delivering, but not every event\.$/],
    ['nothing is wrong', {}, /^Delivering\.$/],
    ['the last poll failed', failing(0), /^Delivering, but the last requests for main failed\.$/],
    ['the service begins to refuse', { holds: [beginning] }, /^Delivering, but the last requests failed\.$/],
    [
      'the service begins to refuse what is asked for one account',
      one({ holds: [beginning] }),
      /^Delivering, but the last requests for main failed\.$/,
    ],
    ['a change was given up', { queue: { deadLetters: 1 } }, /^Delivering, but not what it gave up on\.$/],
    ['one is stopped', { accounts: [{ name: 'a' }, { name: 'b', ...bad }] }, /^Delivering, but not for b\.$/],
    [
      'many are stopped',
      { accounts: [{ name: 'z' }, ...all] },
      /^Delivering, but not for a, b, c, d, e and 1 more\.$/,
    ],
    ['all are stopped, and a webhook fails', { ...one(bad), ...webhook({ gone: true }) }, /^Not .*: main: /],
    ['a webhook is gone', webhook({ gone: true }), /^Delivering, but not to every webhook\.$/],
    ['the circuit is open', circuit(0), /^Not delivering: The partner service answers 403 [^:]* trial\.$/],
    ['there is one fault', { holds: [lasting] }, /^Not delivering since 2026-11-20T11:59:00.000Z: /],
    ['there is 429', paused429(0, minute), /^Late since .*T12:01:00/],
    ['nobody runs it', idle, /^Not delivering: No process/],
    ['it runs regularly', betweenRuns(minute), /^Delivering, but not what changed after the last run\.$/],
    [
      'nobody runs it any more',
      { ...idle, feed: { lastPolled: nowMs - minute } },
      /^Not delivering since 2026-11-20T11:59:00.000Z: No process/,
    ],
    [
      'nobody is connected any more',
      one(stopped('disconnected')),
      /^Not delivering: main is disconnected\. Waiting: 0/,
    ],
    ['nobody is connected', { accounts: [] }, /^Not delivering: No partner account is connected\. /],
    ['changes wait for long', waiting(3, -6 * minute), /^Late since 2026-11-20T11:54:00.000Z/],
    ['somebody has paused it', { holds: [pause] }, /^Not delivering since .* eva/],
  ])('the first line of status is right when %s', async (_, given, line) => {
    expect((await lookAt(given)).line).toMatch(line);
  });
});

it('each error of a command is two sentences without full stops', () => {
  for (const [code, { says, mend = '' }] of Object.entries<{ says: string; mend?: string }>(errors)) {
    const { message } = failed(code as keyof typeof errors);
    expect([code, says.at(-1), mend.at(-1)]).not.toContain('.');
    expect(message).not.toMatch(/[[\]{}]/);
    // What is in brackets depends on a fact; without one, the brackets would be lost.
    for (const [part] of says.concat(mend).matchAll(/\[[^\]]*\]/g)) expect(part).toContain('{');
  }
});
