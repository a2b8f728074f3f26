/** What is wrong, found once from the facts of `status`: `status`, `doctor` and the console show the same findings. */

import { type alarms, attentionAlarms, isAboutSecret } from '../shared/contract/names.ts';
import type { FaultKind } from '../shared/domain/faults.ts';
import { printableLine } from '../shared/domain/text.ts';
import { sumOf } from '../shared/ports/store.ts';
import { kindOfReader } from '../shared/sqlite/event-log.ts';
import { type AccountStatus, heldMs, type ShownPause } from './account-status.ts';
import { applicationWords, connectWords, namesText, type Problem } from './errors.ts';
import type { RaisedAlarm } from './stack-state.ts';
import type { Status } from './status.ts';

/** A section of docs/operate/runbook.md: each has the name of an alarm (a test compares them). */
type Section = Lowercase<(typeof alarms)[keyof typeof alarms]>;

export interface Finding {
  /** The kind of problem, such as `circuit`; a new one is not a breaking change. */
  readonly what: string;
  /** Null: the whole bridge. */
  readonly partnerAccount: string | null;
  /** ISO 8601; null when it is not known. */
  readonly since: string | null;
  /** `fault`: events are late or missing, or will be. `attention`: delivered, but somebody must act. */
  readonly severity: 'fault' | 'attention' | 'note';
  readonly stops: Stops;
  /** One or several sentences. */
  readonly says: string;
  /** What to do; it ends with a colon where a command follows. */
  readonly advice: string | null;
  /** The command or the page that mends it; null when it ends by itself. */
  readonly mend: string | null;
  /** Section of docs/operate/runbook.md. */
  readonly runbook: Section | null;
}

/** What is not delivered while it lasts, of which there is more or less; `late`: everything, but later. */
type Stops = 'all' | 'late' | 'account' | 'nothing' | keyof typeof exceptions;

/** For the first line of `status`. */
const exceptions = {
  unsure: 'the last requests failed',
  advert: 'not what it gave up on',
  webhook: 'not to every webhook',
  output: 'not to standard output',
  oldest: 'not every event',
  unreadable: 'not what cannot be read',
  'without-token': 'not once tokens run out',
  unknown: 'it is not known how late',
};

/** What a remedy depends on. */
export interface Mends {
  readonly kind: 'local' | 'stack';
  readonly command: (words: string) => string;
}

export interface FindingOptions extends Mends {
  readonly nowMs: number;
}

type Found = Pick<Finding, 'severity' | 'says'> & Partial<Finding> & More;
type BridgeRule = (status: Status, options: FindingOptions) => Found | readonly Found[] | false;
type Named = Pick<AccountStatus, 'name' | 'reason'> & Partial<AccountStatus>;
/** Its sentence follows the name of the account, or stands alone in a command's error. */
type AccountRule = (account: Named, options: Mends) => Found;

/** @property command the words of a command of this program that mends it */
type More = Pick<Partial<Finding>, 'since' | 'stops' | 'advice' | 'mend' | 'runbook'> & {
  readonly command?: string;
};
const fault = (says: string, more: More = {}): Found => ({ severity: 'fault', says, ...more });
const attention = (says: string, more: More = {}): Found => ({ severity: 'attention', says, ...more });
const note = (says: string, more: More = {}): Found => ({ severity: 'note', says, ...more });

/** All findings: the worst first, those of the whole bridge before those of one partner account. */
export function findingsOf(status: Status, options: FindingOptions): Finding[] {
  const ofBridge = Object.entries(bridgeRules).flatMap(([what, rule]) =>
    [rule(status, options) || []].flat().map((found) => finding({ what, ...found }, options)),
  );
  const ofAccounts = status.partnerAccounts.flatMap((account) =>
    account.attention.map((what) => {
      const rule = Object.hasOwn(accountRules, what) ? accountRules[what] : undefined;
      const found = { what, stops: 'account' as const, ...(rule ?? unknownCause)(account, options) };
      const { name: partnerAccount } = account;
      return finding({ ...found, partnerAccount, says: `${partnerAccount}: ${found.says}` }, options);
    }),
  );
  const rank = { fault: 0, attention: 1, note: 2 };
  return [...ofBridge, ...ofAccounts].sort((a, b) => rank[a.severity] - rank[b.severity]);
}

function finding(
  { command: words, ...found }: Found & Pick<Finding, 'what'>,
  { command }: Pick<Mends, 'command'>,
): Finding {
  const mend = words === undefined ? null : command(words);
  const rest = {
    stops: 'nothing' as const,
    partnerAccount: null,
    since: null,
    advice: null,
    mend,
    runbook: null,
  };
  return { ...rest, ...found, says: printableLine(found.says) };
}

/** The first line of `status`: does it deliver? */
export function deliveryText({ partnerAccounts }: Status, findings: readonly Finding[]): string {
  const stopping = findings.filter(({ stops }) => stops === 'account');
  const hit = [...new Set(stopping.flatMap(({ partnerAccount }) => partnerAccount ?? []))];
  // What was disconnected on purpose is not missed.
  const connected = partnerAccounts.filter(({ reason }) => reason !== 'disconnected');
  const [ofAll] = hit.length === connected.length ? stopping : [];
  const cause = findings.find(({ stops }) => stops === 'all') ?? ofAll;
  if (cause) return `Not delivering${causeText(cause)}`;
  const delayed = findings.filter(({ stops }) => stops === 'late');
  const late = delayed.find(({ partnerAccount }) => partnerAccount === null) ?? delayed[0];
  if (late) return `Late${causeText(late)}`;
  const parts = Object.entries(exceptions).filter(([part]) => findings.some(({ stops }) => stops === part));
  // The hold of an account that has just begun is no finding yet.
  const tried = partnerAccounts.filter(
    ({ name, hold, attention }) => (hold || attention.includes('poll-failed')) && !hit.includes(name),
  );
  const all = [
    ...(hit.length > 0 ? [`not for ${namesText(hit, maxNames)}`] : []),
    ...(tried.length > 0
      ? [
          `the last requests for ${namesText(
            tried.map(({ name }) => name),
            maxNames,
          )} failed`,
        ]
      : []),
    ...parts.map(([, says]) => says),
  ];
  return all.length === 0 ? 'Delivering.' : `Delivering, but ${all.join(', and ')}.`;
}

const causeText = ({ since, says }: Finding): string => `${since === null ? '' : ` since ${since}`}: ${says}`;

/** What to do, with the command in backticks, or the section of the runbook; empty when it ends by itself. */
export function mendText({ advice, mend, runbook }: Partial<Finding>): string {
  if (!mend) return advice ?? (runbook ? `${runbookPage}#${runbook}` : '');
  const shown = /^(docs\/|https?:)/.test(mend) ? mend : `\`${mend}\``;
  return advice ? `${advice} ${shown}` : shown;
}

/** What a fault of an account means for a command, and its remedy; undefined for other faults. */
export function faultProblem(kind: FaultKind, reason: string, options: Mends): Problem | undefined {
  const found = accountRules[kind]?.({ name: 'NAME', reason }, options);
  if (!found) return undefined;
  const why = found.says.includes(reason) ? '' : ` (${reason})`;
  // Without the full stop.
  return [`${found.says.slice(0, -1)}${why}`, mendText(finding({ what: kind, ...found }, options))];
}

export const runbookPage = 'docs/operate/runbook.md';

export const needsAttention = (findings: readonly Finding[]): boolean =>
  findings.some(({ severity }) => severity !== 'note');

const changes = (number: number): string => `${number} change${number === 1 ? '' : 's'}`;

const waitingFor = (accounts: readonly AccountStatus[]): number =>
  accounts.reduce((sum, { books }) => sum + books.inFlight, 0);

const maxNames = 5;
/** Longer than a change takes from the feed to its event, with a first repeat. */
const lateSeconds = 45;
/** A shorter pause that the service asked for ends before anybody could act. */
const maxPauseMs = 60_000;
/** The part of the events that may wait for a reader of which it is told. */
const nearlyFull = 0.8;
/** Fewer bad answers in two minutes may be those of a single advert. */
const manyAnswers = 5;

function badAnswersText({ answers }: Status, nowMs: number): string {
  const recent = (answers?.minutes ?? []).filter(({ at }) => nowMs - Date.parse(at) < 2 * 60_000);
  const counts = Object.entries(recent.map((minute) => minute.counts).reduce(sumOf, {}));
  if (!counts.some(([kind, number]) => kind !== 'ok' && number >= manyAnswers)) return '';
  return ` It answered lately: ${counts.map(([kind, number]) => `${number} ${kind}`).join(', ')}.`;
}

/** @param says the description of the alarm, which names the page of the runbook */
export function alarmFound({ name, says: advice, since }: RaisedAlarm): Found {
  const found = attentionAlarms.includes(name) ? attention : fault;
  const runbook = name.split('-')[0]?.toLowerCase() as Section;
  return found(`The alarm ${name} is raised.`, { since, advice, runbook });
}

const bridgeRules: Readonly<Record<string, BridgeRule>> = {
  'no-account'({ partnerAccounts, unreadable }) {
    if (unreadable.length > 0 || partnerAccounts.some(({ reason }) => reason !== 'disconnected'))
      return false;
    const name = partnerAccounts.length === 1 ? partnerAccounts[0]?.name : undefined;
    const says = name === undefined ? 'No partner account is connected.' : `${name} is disconnected.`;
    const command = connectWords(name ?? 'NAME');
    const more = { stops: 'all', advice: 'Connect:', command } as const;
    return note(`${says} Waiting: ${changes(waitingFor(partnerAccounts))}.`, more);
  },
  'older-copy': ({ reusedHistories = [] }) =>
    reusedHistories.length > 0 &&
    fault(
      'The state is an older copy: more was published than it knows, so no run begins. It would use sequence numbers ' +
        `again for ${namesText(reusedHistories, maxNames)}.`,
      {
        advice: 'Begin anew, with a TIME shortly before the copy was made:',
        stops: 'all',
        command: 'connect --all --new-history --since TIME',
      },
    ),
  'not-running': (status) => {
    const { isRunning, partnerAccounts, lastDrain: since, reusedHistories = [] } = status;
    // A run does nothing for the others.
    const served = partnerAccounts.filter(({ state, paused }) => state !== 'stopped' && paused === null);
    if (isRunning !== false || served.length === 0 || reusedHistories.length > 0) return false;
    const waiting = waitingFor(served);
    const says = `No process runs this bridge: nothing is polled. Waiting: ${changes(waiting)}.`;
    return (waiting > 0 ? fault : attention)(says, { stops: 'all', since, command: 'run' });
  },
  'not-responding': ({ standstill }) =>
    standstill !== null &&
    fault(
      `The run (${standstill.run}) stands still since ${standstill.since}: nothing is polled or published. Its process ` +
        'was stopped, waits for a disk, or is blocked.',
      {
        since: standstill.since,
        advice:
          'Continue the process (`kill -CONT PID`), or end it (`kill -9 PID`): nothing is lost. Then begin anew:',
        ...{ stops: 'all', command: 'run' },
      },
    ),
  circuit: ({ circuit, pausedUntil }) =>
    circuit &&
    fault(
      'The circuit is open: the partner service answers 403 to different requests, as if it blocked this address. ' +
        (pausedUntil === null
          ? 'The next request goes through as a trial.'
          : `Nothing is sent until ${pausedUntil}, then one request as a trial.`),
      {
        advice:
          'Find out who sends more than it allows from here, and wait; a restart does not shorten it. When the service lets you in again:',
        ...{ stops: 'all', command: 'resume --early', runbook: 'needsattention' },
      },
    ),
  held({ hold, circuit }, { nowMs }) {
    if (circuit || hold === null || hold.fault === 'rate-limited') return false;
    const found = nowMs - Date.parse(hold.since) >= heldMs ? fault : note;
    const says = `The partner service answers the requests of all partner accounts with the same fault (${hold.fault}). ${triesAt(hold)}`;
    // One that has just begun usually ends at the first trial.
    const stops = found === note ? 'unsure' : 'all';
    return found(says, { since: hold.since, stops, advice: tryNow, command: 'resume --early' });
  },
  resource: ({ resourceFaults = [] }) =>
    resourceFaults.map(({ of: what, says, mend }) => ({
      ...fault(`${says[0]?.toUpperCase()}${says.slice(1)}.`, { stops: 'all', mend }),
      what,
    })),
  'operator-paused': ({ paused }) =>
    paused !== null &&
    attention(`The whole bridge is ${pausedText(paused)}`, {
      stops: 'all',
      since: paused.since,
      command: 'resume',
    }),
  'rate-limited'({ hold, pausedUntil }, { nowMs }) {
    if (hold?.fault !== 'rate-limited') return false;
    // Until a request succeeds: a service that asks for pauses again and again lets nothing through between them.
    const end = Math.max(nowMs, Date.parse(hold.until ?? hold.since));
    const found = end - Date.parse(hold.since) > maxPauseMs ? attention : note;
    const next = pausedUntil === null ? ' The next request tries again.' : '';
    return found(`The partner service asked the whole bridge to wait until ${hold.until}.${next}`, {
      ...{ since: hold.since, advice: 'If it agrees to end that early:', command: 'resume --early' },
      ...{ stops: 'late', runbook: 'needsattention' },
    });
  },
  late: (status, { nowMs }) => {
    const { oldestWaitingSeconds: oldest, queue, paused, hold, partnerAccounts } = status;
    // What waits for the end of a stop or a pause has a finding of its own; a hold that has just begun has none yet.
    const isHeld = ({ state, attention }: AccountStatus) =>
      state === 'stopped' || (state === 'paused' && attention.length > 0);
    const isExplained =
      status.isRunning === false ||
      status.standstill !== null ||
      paused !== null ||
      hold?.fault === 'rate-limited' ||
      partnerAccounts.some((account) => isHeld(account) && account.books.inFlight > 0);
    const takesSeconds = queue.waiting / (status.answers?.maxRequestsPerSecond ?? 10);
    const answers = badAnswersText(status, nowMs);
    const patienceSeconds = answers === '' ? lateSeconds : lateSeconds / 2;
    if (oldest === null || isExplained || oldest <= patienceSeconds + 2 * takesSeconds) return false;
    const names = partnerAccounts.flatMap(({ name, books }) => (books.inFlight > 0 ? [name] : []));
    const whose = names.length === 0 ? '' : ` of ${namesText(names, maxNames)}`;
    return fault(
      `${changes(queue.waiting)}${whose} waiting, the oldest for ${Math.round(oldest)} s, which would take ${Math.ceil(takesSeconds)} s: ` +
        `the partner service does not return their adverts, or the bridge does not publish.${answers}`,
      {
        ...{ since: new Date(nowMs - oldest * 1000).toISOString(), runbook: 'lateevents' },
        stops: 'late',
        advice: 'Its log says why, and for one advert:',
        command: `history ${names.length === 1 ? names[0] : 'NAME'} ADVERT`,
      },
    );
  },
  'secret-deleted': ({ secretsToBeDeleted = [], partnerAccounts }) =>
    secretsToBeDeleted.flatMap((secret) => {
      const [name = '', kind] = secret.split('/').toReversed();
      const partnerAccount = kind === 'partner-accounts' ? name : null;
      const isUsed = partnerAccounts.some((account) => account.name === name && account.state !== 'stopped');
      // That of a stopped account is of no use, or of one that was disconnected.
      if (partnerAccount !== null && !isUsed) return [];
      const stops = partnerAccount === null ? 'without-token' : 'account';
      const mend = `aws secretsmanager restore-secret --secret-id ${secret}`;
      const says = `The secret ${secret} waits for its deletion: nobody can read it.`;
      return [{ ...fault(says, { stops, mend }), partnerAccount }];
    }),
  'unreadable-row': ({ unreadable }) =>
    unreadable.map((flaw) =>
      fault(`A stored row cannot be read, so its partner account or feed is not polled: ${flaw}.`, {
        ...{ stops: 'unreadable', mend: 'docs/operate/backup.md' },
      }),
    ),
  'age-unknown': ({ queue, oldestWaitingSeconds, mapping, unseen = [] }) =>
    mapping !== undefined &&
    queue.waiting > 0 &&
    oldestWaitingSeconds === null &&
    unseen.length === 0 &&
    attention(`${changes(queue.waiting)} waiting, and CloudWatch does not say for how long.`, {
      stops: 'unknown',
      advice: 'After a quiet time its measurements may take a quarter of an hour. Look again:',
      command: 'status',
    }),
  'dead-letters': ({ queue }, { command }) =>
    queue.deadLetters > 0 &&
    attention(`The bridge gave up on ${changes(queue.deadLetters)}.`, {
      advice: `See why (\`${command('dead-letters list')}\`), and when the cause is fixed:`,
      ...{ stops: 'advert', command: 'dead-letters redrive --all', runbook: 'deadletters' },
    }),
  webhook: ({ webhooks = [] }, { nowMs, command }) =>
    webhooks.flatMap(({ address, state, failingSince: since, lastAnswer, waiting }): Found[] => {
      const isLong = since !== null && nowMs - Date.parse(since) >= heldMs;
      if (state !== 'gone' && !isLong) return [];
      const verb = state === 'gone' ? 'is gone' : 'does not take its events';
      const answer = lastAnswer === null ? '' : ` (${lastAnswer})`;
      const [kind, stops] = [kindOfReader(address), 'webhook'] as const;
      const says = `The ${kind} ${address} ${verb}${answer}: ${waiting} events are kept for it, for the retention of the run.`;
      const next =
        state === 'gone'
          ? 'When its owner has mended it, restart the run, which sends them.'
          : 'They are sent when it takes events again: ask its owner.';
      const forget = command(`webhook ${kind === 'webhook' ? 'URL' : address} --forget`);
      const advice = `${next} If nobody needs them any more: \`${forget}\`. What waits:`;
      return [fault(says, { since, stops, advice, command: 'webhook' })];
    }),
  output: ({ output, webhooks }) =>
    output !== null &&
    fault(
      `Standard output takes no events (${output.reason}). They are kept, and written when it does` +
        `${webhooks?.length ? '; webhooks get theirs' : ''}.`,
      {
        since: output.failingSince,
        stops: webhooks?.length === 0 ? 'all' : 'output',
        advice: 'Free space on its disk, or restart what reads it; the run goes on by itself.',
      },
    ),
  backlog: ({ webhooks = [], outputEvents }) =>
    [...webhooks, ...(outputEvents ? [{ ...outputEvents, address: null }] : [])].flatMap(
      ({ address, waiting, givenUp, maxEvents }): Found[] => {
        if (maxEvents === null || waiting < nearlyFull * maxEvents) return [];
        const name = address === null ? 'standard output' : `the ${kindOfReader(address)} ${address}`;
        const says = `${waiting} events wait for ${name}. Of more than ${maxEvents}, the oldest are given up`;
        const advice =
          'Mend what keeps it, or let more wait, if the disk has room: `run --webhook-max-events`.';
        if (waiting < maxEvents) return [attention(`${says}.`, { advice })];
        return [fault(`${says}: ${givenUp} so far.`, { stops: 'oldest', advice })];
      },
    ),
  alarm: (status) => (status.alarms ?? []).map(alarmFound),
  unseen: ({ unseen = [] }) =>
    unseen.map((what) =>
      attention(`AWS did not show ${what}.`, {
        mend: 'docs/operate/deploy.md#what-status-has-to-be-allowed',
      }),
    ),
};

const triesAt = (hold: AccountStatus['hold'] | undefined): string =>
  `A bridge that runs tries again by itself${hold?.until ? ` after ${hold.until}` : ''}.`;
const tryNow = 'To try at once:';
const pausedText = ({ who, reason }: ShownPause): string =>
  `paused by ${who}${reason === null ? '' : ` (${reason})`}.`;

/** A fault that ends when the account is connected again. */
const byConnecting =
  (says: string, advice = 'Connect it again:', more: More = {}): AccountRule =>
  ({ name }) =>
    fault(says, { ...more, advice, command: connectWords(name) });

/** A fault that ends when the application is stored. */
const byStoring =
  (says: string, advice: string): AccountRule =>
  (_account, { kind }) =>
    fault(says, { advice, command: applicationWords(kind) });

const authorize = (because: string) =>
  byConnecting(`${because}.`, 'Have the user authorize again:', { runbook: 'partneraccountstopped' });
const tooSmallScope = authorize('the user granted less than the bridge requires');
const refusedToken = authorize(
  'the service no longer accepts the refresh token (revoked, used elsewhere, or unused for a month)',
);
const noApplication = byStoring("the application's credentials are missing or damaged.", 'Store them:');
const damagedPair = byConnecting('the stored token pair is damaged.');
const wrongBaseUrl =
  'there is no partner service at the base URL (it answers with a redirect, or does not know the path).';

const unknownCause: AccountRule = ({ reason }) => fault(`it needs manual action (${reason ?? 'unknown'}).`);

const accountRules: Readonly<Record<string, AccountRule>> = {
  'operator-paused': ({ name, paused }) =>
    attention(paused ? pausedText(paused) : 'paused.', {
      ...{ since: paused?.since ?? null, command: `resume ${name}` },
    }),
  held: ({ name, hold, reason }) => {
    const why = reason ?? hold?.fault ?? '';
    const says = `the service answers different requests for it with the same fault (${why}). ${triesAt(hold)}`;
    return fault(says, {
      ...{ since: hold?.since ?? null, advice: tryNow, command: `resume ${name} --early` },
    });
  },
  'refresh-token-rejected': refusedToken,
  'grant-rejected': refusedToken,
  'account-stopped': authorize('there are no credentials that work'),
  'scope-insufficient': tooSmallScope,
  'scope-refused': tooSmallScope,
  'client-rejected': byStoring(
    'the service refuses the client ID or the client secret.',
    'Store the right ones:',
  ),
  'malformed-state'(account, options) {
    const { reason } = account;
    if (isAboutSecret(reason ?? '', 'application')) return noApplication(account, options);
    if (isAboutSecret(reason ?? '', 'partnerAccountPrefix')) return damagedPair(account, options);
    return fault('stored data is damaged.', { advice: 'How to restore it:', mend: 'docs/operate/backup.md' });
  },
  'wrong-path'(account, options) {
    const advice = 'Set the right one:';
    if (options.kind === 'local') return byStoring(wrongBaseUrl, advice)(account, options);
    return fault(wrongBaseUrl, { advice, mend: 'npx cdk deploy -c partnerBaseUrl=URL' });
  },
  'token-answer-broken': byConnecting(
    'the token endpoint gave an access token that cannot be sent; the bridge asks again.',
    'If this stays, ask the service, or authorize again:',
  ),
  'feed-stuck': ({ name, reason }) =>
    fault(`its feed makes no progress (${reason ?? 'unknown'}); the bridge tries every five minutes.`, {
      advice:
        'If this stays, ask the service, or read again from a time that it still knows (`resync`). To try at once:',
      command: `poll ${name}`,
    }),
  'poll-failed': ({ reason, lastSuccess: since }) =>
    attention(`the last poll of its feed failed (${reason ?? 'unknown'}). ${triesAt(undefined)}`, {
      ...{ since, stops: 'nothing' },
    }),
  unread: ({ reason, lastSuccess: since }) =>
    fault(`its feed cannot be read (${reason ?? 'unknown'}). ${triesAt(undefined)}`, {
      ...{ since, runbook: 'nosuccessfuldrain' },
    }),
  lagging: ({ lagSeconds, lastSuccess: since }) =>
    fault(`its feed was not read to its end for ${Math.round((lagSeconds ?? 0) / 60)} min.`, {
      ...{ since, stops: 'late', runbook: 'nosuccessfuldrain' },
    }),
  'resource-unusable': ({ reason }) =>
    fault(`${reason ?? 'a resource of the bridge cannot be used'}.`, {
      advice: 'See what is missing or denied:',
      ...{ command: 'doctor', runbook: 'needsattention' },
    }),
  'feed-missing': byConnecting('its feed is not registered as it should be, so it is not polled.'),
  'refresh-token-dying': ({ name, refreshTokenExpiresAt }) =>
    attention(`its refresh token was not used for weeks and expires at ${refreshTokenExpiresAt}.`, {
      stops: 'nothing',
      advice: 'Fix what prevents it from being refreshed (the log of refresh-token says what), or:',
      command: connectWords(name),
    }),
};
