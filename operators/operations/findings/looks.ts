/** Looks at the facts of `status`: each returns the facts of a problem, for its sentence in problems.json. */

import { kindOfReader } from '../../../embedded/state/event-log.ts';
import { isYoung } from '../../../shared/domain/clock.ts';
import { policyOf } from '../../../shared/domain/faults.ts';
import { type FindingOptions, type Found, maxNames } from '../../../shared/findings/finding.ts';
import problems from '../../../shared/findings/problems.json' with { type: 'json' };
import type { Mends } from '../../../shared/findings/sentences.ts';
import { sumOf } from '../../../shared/ports/store.ts';
import { heldMs } from '../account-status.ts';
import { applicationWords, namesText } from '../errors.ts';
import { duration } from '../figures.ts';
import type {
  AccountStatus,
  FailingAdverts,
  IdleRun,
  PrintedPause,
  ResourceFault,
  Status,
} from '../printed.ts';

type Look = (status: Status, options: FindingOptions) => Found | readonly Found[] | false;

const changes = (number: number): string => `${number} change${number === 1 ? '' : 's'}`;

const changesInFlight = (accounts: readonly AccountStatus[]): number =>
  accounts.reduce((sum, { books }) => sum + books.inFlight, 0);

/** Longer than a change takes from the feed to its event, with a first repeat. */
const lateSeconds = 45;
/** A shorter pause that the service asked for ends before anybody could act. */
const maxPauseMs = 60_000;
/** The part of the events that may wait for a reader of which it is told. */
const nearlyFull = 0.8;
/** A run may take so much longer than the one before. */
const runMs = 60_000;
/** Fewer bad answers in two minutes may be those of a single advert. */
const manyAnswers = 5;

function badAnswersText({ answers }: Status, nowMs: number): string {
  const recent = (answers?.minutes ?? []).filter(({ at }) => nowMs - Date.parse(at) < 2 * 60_000);
  const counts = Object.entries(recent.map((minute) => minute.counts).reduce(sumOf, {}));
  if (!counts.some(([kind, number]) => kind !== 'ok' && number >= manyAnswers)) return '';
  return counts.map(([kind, number]) => `${number} ${kind}`).join(', ');
}

/** Whether something, such as cron, starts runs, and has not missed two: what starts them is not known. */
const isBetweenRuns = ({ endedAt, everySeconds }: IdleRun, nowMs: number): boolean =>
  everySeconds !== null && isYoung(Date.parse(endedAt), nowMs, 2 * everySeconds * 1000 + runMs);

export const resourceFound = ({ of: what, code: entry, facts }: ResourceFault): Found => ({
  ...facts,
  what,
  entry,
});

/** Of the whole bridge, by the code of the problem. */
export const looks: Readonly<Record<string, Look>> = {
  'no-account'({ partnerAccounts, unreadable }) {
    if (unreadable.length > 0 || partnerAccounts.some(({ reason }) => reason !== 'disconnected'))
      return false;
    const [one, another] = partnerAccounts;
    const facts = { name: 'NAME', changes: changes(changesInFlight(partnerAccounts)) };
    return one && !another ? { ...facts, name: one.name, entry: 'disconnected' } : facts;
  },
  'older-copy': ({ reusedHistories: names = [] }) =>
    names.length > 0 && { names: namesText(names, maxNames) },
  'not-running'(status, { nowMs }) {
    const { isRunning, partnerAccounts, lastDrain: since, reusedHistories = [], idleRun } = status;
    // A run does nothing for the others.
    const served = partnerAccounts.filter(({ state, paused }) => state !== 'stopped' && paused === null);
    if (isRunning !== false || served.length === 0 || reusedHistories.length > 0) return false;
    const waiting = changesInFlight(served);
    const facts = { changes: changes(waiting), idleAt: idleRun?.endedAt };
    if (idleRun && isBetweenRuns(idleRun, nowMs))
      return { ...facts, every: duration(idleRun.everySeconds ?? 0), entry: 'between-runs' };
    return { ...facts, since, severity: waiting > 0 ? 'fault' : 'attention' };
  },
  'not-responding': ({ standstill }) => standstill !== null && standstill,
  'disk-full': ({ fullDisk }) => fullDisk !== null && fullDisk,
  circuit: ({ circuit, pausedUntil: until }) => circuit && { until },
  held({ hold, circuit }, { nowMs }) {
    if (circuit || hold === null || hold.fault === 'rate-limited') return false;
    const { since, fault } = hold;
    // One that has just begun usually ends at the first trial.
    const isYoung = nowMs - Date.parse(since) < heldMs;
    return { since, fault, until: hold.until, ...(isYoung && { severity: 'note', stops: 'unsure' }) };
  },
  'rate-limited'({ hold }, { nowMs }) {
    if (hold?.fault !== 'rate-limited') return false;
    const { since, until } = hold;
    // Until a request succeeds: a service that asks for pauses again and again lets nothing through between them.
    const end = Math.max(nowMs, Date.parse(until ?? since));
    const severity = end - Date.parse(since) > maxPauseMs ? 'attention' : 'note';
    return { since, until, severity };
  },
  resource: ({ resourceFaults = [] }) => resourceFaults.map(resourceFound),
  'secret-deleted': ({ secretsToBeDeleted = [], partnerAccounts }) =>
    secretsToBeDeleted.flatMap((secret) => {
      const [name = '', kind] = secret.split('/').toReversed();
      if (kind !== 'partner-accounts') return [{ secret }];
      // That of a stopped account is of no use, or of one that was disconnected.
      const isUsed = partnerAccounts.some((account) => account.name === name && account.state !== 'stopped');
      return isUsed ? [{ secret, partnerAccount: name, stops: 'account' as const }] : [];
    }),
  'unreadable-row': ({ unreadable }) => unreadable.map((flaw) => ({ flaw })),
  'operator-paused': ({ paused }) => paused !== null && { ...pauseFacts(paused), since: paused.since },
  late(status, { nowMs }) {
    const { oldestWaitingSeconds: oldest, queue, paused, hold, partnerAccounts } = status;
    // What waits for the end of a stop or a pause has a finding of its own; a hold that has just begun has none yet.
    const isStoppedOrPaused = ({ state, attention }: AccountStatus) =>
      state === 'stopped' || (state === 'paused' && attention.length > 0);
    const isExplained =
      status.isRunning === false ||
      status.standstill !== null ||
      status.fullDisk !== null ||
      paused !== null ||
      hold?.fault === 'rate-limited' ||
      partnerAccounts.some((account) => isStoppedOrPaused(account) && account.books.inFlight > 0);
    // What failed or was redriven comes back at half of the rate.
    const takesSeconds = (2 * queue.waiting) / (status.answers?.maxRequestsPerSecond ?? 10);
    // Single requests, or none, go out: how long that takes depends on the service.
    const isSlowed =
      hold !== null || partnerAccounts.some((one) => one.hold !== null && one.books.inFlight > 0);
    const answers = badAnswersText(status, nowMs);
    const patienceSeconds = answers === '' ? lateSeconds : lateSeconds / 2;
    if (oldest === null || isExplained || oldest <= patienceSeconds + takesSeconds) return false;
    const names = partnerAccounts.flatMap(({ name, books }) => (books.inFlight > 0 ? [name] : []));
    return {
      changes: changes(queue.waiting),
      oldest: Math.round(oldest),
      takes: isSlowed ? null : duration(Math.ceil(takesSeconds)),
      answers,
      names: namesText(names, maxNames),
      name: names.length === 1 ? names[0] : 'NAME',
      since: new Date(nowMs - oldest * 1000).toISOString(),
    };
  },
  'age-unknown': ({ queue, oldestWaitingSeconds, mapping, unseen = [] }) =>
    mapping !== undefined &&
    queue.waiting > 0 &&
    oldestWaitingSeconds === null &&
    unseen.length === 0 && { changes: changes(queue.waiting) },
  'dead-letters': ({ queue }) => queue.deadLetters > 0 && { changes: changes(queue.deadLetters) },
  webhook: ({ webhooks = [] }, { nowMs }) =>
    webhooks.flatMap(({ address, state, failingSince: since, lastAnswer, waiting }) => {
      const isLong = since !== null && nowMs - Date.parse(since) >= heldMs;
      if (state !== 'gone' && !isLong) return [];
      const kind = kindOfReader(address);
      return {
        kind,
        address,
        since,
        waiting,
        entry: state === 'gone' ? 'webhook-gone' : 'webhook',
        lastAnswer,
        // A URL may be a secret, and is not shown.
        target: kind === 'webhook' ? 'URL' : address,
      };
    }),
  output: ({ output, webhooks }) =>
    output !== null && {
      reason: output.reason,
      since: output.failingSince,
      stops: webhooks?.length === 0 ? 'all' : 'output',
      webhooks: webhooks?.length || null,
    },
  backlog: ({ webhooks = [], outputEvents }) =>
    [...webhooks, ...(outputEvents ? [{ ...outputEvents, address: null }] : [])].flatMap(
      ({ address, waiting, givenUp, maxEvents }): Found[] => {
        if (maxEvents === null || waiting < nearlyFull * maxEvents) return [];
        const name = address === null ? 'standard output' : `the ${kindOfReader(address)} ${address}`;
        const facts = { name, waiting, maxEvents };
        if (waiting < maxEvents) return [{ ...facts, severity: 'attention', stops: 'nothing' }];
        return [{ ...facts, givenUp }];
      },
    ),
  unseen: ({ unseen = [] }) => unseen.map((each) => ({ unseen: each })),
};

const pauseFacts = (pause: PrintedPause | null | undefined) => ({ who: pause?.who, why: pause?.reason });

type Named = Pick<AccountStatus, 'name' | 'reason'> & Partial<AccountStatus>;

/** Of a partner account, for the sentences about it. */
export const accountFacts = (account: Named, what: string, { kind }: Pick<Mends, 'kind'>): Found => ({
  name: account.name,
  reason: (what === 'held' ? null : account.reason) ?? account.hold?.fault ?? 'unknown',
  application: applicationWords(kind),
  ...pauseFacts(account.paused),
  changes: changes(account.books?.inFlight ?? 0),
  lag: duration(account.lagSeconds ?? 0),
  refreshTokenExpiresAt: account.refreshTokenExpiresAt,
  ...(account.failing && {
    ...account.failing,
    failing: failingText(account.failing),
    fate: problems.fates[fateOf(account.failing)],
  }),
});

/** What becomes of the advert that fails for the longest. */
function fateOf({ fault }: FailingAdverts): keyof typeof problems.fates {
  if (fault === 'not-found') return 'gone';
  return policyOf(fault)?.deadLettered === 'by-age' ? 'failing' : 'refused';
}

const failingText = ({ count, isMore, advertId }: FailingAdverts): string =>
  count > 1 || isMore
    ? `${count}${isMore ? ' or more' : ''} adverts fail, ${advertId} for the longest`
    : `advert ${advertId} fails`;
