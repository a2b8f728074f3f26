/**
 * What is wrong, found once from the facts of `status`: `status` and the console show the same findings, with the same
 * command that mends each.
 */
import { type alarms, isAboutSecret, maxLagSeconds } from '../shared/contract/names.ts';
import { printableLine } from '../shared/domain/text.ts';
import { type AccountStatus, heldMs } from './account-status.ts';
import { applicationWords, connectWords } from './errors.ts';
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
  /** `fault`: something is not delivered, or will be lost. `attention`: delivered, but somebody must act. */
  readonly severity: 'fault' | 'attention' | 'note';
  /** A sentence. */
  readonly says: string;
  /** The command or the page that mends it; null when it ends by itself. */
  readonly mend: string | null;
  /** Section of docs/operate/runbook.md. */
  readonly runbook: Section | null;
}

export interface FindingOptions {
  readonly nowMs: number;
  readonly kind: 'local' | 'stack';
  /** A command of this program for this bridge. */
  readonly command: (words: string) => string;
  /** Request rate of the whole bridge. Default: 10. */
  readonly requestsPerSecond?: number | undefined;
}

type Found = Pick<Finding, 'severity' | 'says'> & Partial<Finding>;
type BridgeRule = (status: Status, options: FindingOptions) => Found | readonly Found[] | undefined;
type AccountRule = (account: AccountStatus, options: FindingOptions) => Found;

/** All findings: the worst first, those of the whole bridge before those of one partner account. */
export function findingsOf(status: Status, options: FindingOptions): Finding[] {
  const complete =
    (what: string, partnerAccount: string | null) =>
    (found: Found): Finding => ({
      ...{ what, partnerAccount, since: null, mend: null, runbook: null },
      ...found,
    });
  const ofBridge = Object.entries(bridgeRules).flatMap(([what, rule]) =>
    [rule(status, options) ?? []].flat().map(complete(what, null)),
  );
  const ofAccounts = status.partnerAccounts.flatMap((account) =>
    account.attention.map((cause) => {
      const rule = (Object.hasOwn(accountRules, cause) ? accountRules[cause] : undefined) ?? unknownCause;
      return complete(cause, account.name)(rule(account, options));
    }),
  );
  const rank = { fault: 0, attention: 1, note: 2 };
  return [...ofBridge, ...ofAccounts].sort((a, b) => rank[a.severity] - rank[b.severity]);
}

/** Whether `mend` is a page to read, and not a command. */
export const isPage = (mend: string): boolean => /^(docs\/|https?:)/.test(mend);

/** The section of the runbook that is about a finding, or the whole page. */
export const pageOf = ({ runbook }: Finding): string =>
  ['docs/operate/runbook.md', ...(runbook === null ? [] : [runbook])].join('#');

/** Whether somebody has to act. */
export const needsAttention = (findings: readonly Finding[]): boolean =>
  findings.some(({ severity }) => severity !== 'note');

/** Of the whole bridge: while one of them lasts, nothing is delivered. */
const standstills: readonly string[] = [
  ...[
    'older-copy',
    'operator-paused',
    'not-running',
    'circuit',
    'held',
    'table',
    'schedule',
    'mapping',
    'no-account',
  ],
];
/** Also where nobody has to act: nothing waits. */
const notesOfStandstill: readonly string[] = ['not-running', 'no-account'];
const delays: readonly string[] = ['late', 'lagging', 'rate-limited'];

/** The first line of `status`: is it delivering? */
export function deliveryText(status: Status, findings: readonly Finding[]): string {
  const { partnerAccounts, webhooks = [] } = status;
  const ofBridge = findings.filter(({ partnerAccount }) => partnerAccount === null);
  const isBad = ({ what, severity }: Finding) => severity !== 'note' || notesOfStandstill.includes(what);
  const standstill = standstills.flatMap(
    (what) => ofBridge.find((one) => one.what === what && isBad(one)) ?? [],
  );
  const late = findings.find(({ what }) => delays.includes(what));
  const faults = findings.filter(({ severity, what }) => severity === 'fault' && !delays.includes(what));
  const ofAccounts = faults.filter(({ partnerAccount }) => partnerAccount !== null);
  const hit = [...new Set(ofAccounts.map(({ partnerAccount }) => `${partnerAccount}`))];
  const [cause] = [...standstill, ...(hit.length === partnerAccounts.length ? ofAccounts : [])];
  if (cause) return `Not delivering${causeText(cause)}`;
  if (late) return `Late${causeText(late)}`;
  const deaf = faults.some(({ what }) => what === 'webhook') ? webhooks : [];
  const failing = deaf.flatMap(({ address, state }) => (state === 'delivering' ? [] : [address]));
  const exceptions = [
    ...(hit.length === 0 ? [] : [`not for ${namesText(hit)}`]),
    ...(failing.length === 0 ? [] : [`not to ${namesText(failing)}`]),
  ];
  return exceptions.length === 0 ? 'Delivering.' : `Delivering, but ${exceptions.join(', and ')}.`;
}

const maxNames = 5;
const namesText = (names: readonly string[]): string =>
  names.slice(0, maxNames).join(', ') +
  (names.length > maxNames ? ` and ${names.length - maxNames} more` : '');

/** Without the end that leads to the command. */
const causeText = ({ since, says }: Finding): string =>
  `${since === null ? '' : ` since ${since}`}: ${says.replace(/ [^.?]*:$/, '')}`;

const changes = (number: number): string => `${number} change${number === 1 ? '' : 's'}`;

/** Longer than a change takes from the feed to its event, with a first repeat. */
const lateSeconds = 45;
/** Of the setting `maxRequestsPerSecond`. */
const defaultRate = 10;

const ofResource = (what: string, faults: Status['resourceFaults'] = []): Found[] =>
  faults
    .filter(({ of }) => of === what)
    .map(({ says, mend }) => ({ severity: 'fault', says: `${asSentence(says)}.`, mend }));

const asSentence = (text: string): string => `${text[0]?.toUpperCase()}${text.slice(1)}`;

/** @param says the description of the alarm, which ends with the address of its section in the runbook */
export const alarmFinding = ({ name, says, since }: RaisedAlarm): Finding => {
  const [, text = says, page = null] = /^(?:Severity: \w+\. )?(.*?)(?:\s*Runbook: (\S+))?$/s.exec(says) ?? [];
  return {
    ...{ what: 'alarm', partnerAccount: null, since, severity: 'attention' },
    ...{ says: `The alarm ${name} is raised. ${text}`.trim(), mend: page },
    runbook: name.split('-')[0]?.toLowerCase() as Section,
  };
};

const bridgeRules: Readonly<Record<string, BridgeRule>> = {
  'no-account': ({ partnerAccounts, unreadable }, { command }) =>
    partnerAccounts.length + unreadable.length > 0
      ? undefined
      : {
          severity: 'note',
          says: 'No partner account is connected. Connect one:',
          mend: command(connectWords('NAME')),
        },
  'older-copy': ({ reusedHistories = [] }, { command }) =>
    reusedHistories.length === 0
      ? undefined
      : {
          severity: 'fault',
          says:
            'The state is an older copy: more was published than it knows, so no run begins. It would use sequence ' +
            `numbers again for ${namesText(reusedHistories)}. Begin anew, with a TIME shortly before the copy was made:`,
          mend: command('connect --all --new-history --since TIME'),
        },
  'not-running': (status, { command }) => {
    const { isRunning, queue, partnerAccounts, lastDrain, reusedHistories = [] } = status;
    if (isRunning !== false || partnerAccounts.length === 0 || reusedHistories.length > 0) return undefined;
    const polled = partnerAccounts.filter(({ state }) => state === 'polling');
    const lagSeconds = Math.max(0, ...polled.map((account) => account.lagSeconds ?? 0));
    const lag = `, one feed for ${Math.round(lagSeconds / 60)} min`;
    const isLate = lagSeconds > maxLagSeconds;
    return {
      severity: queue.waiting > 0 ? 'fault' : isLate ? 'attention' : 'note',
      since: lastDrain,
      says: `No process runs this bridge: nothing is polled${isLate ? lag : ''}. Waiting: ${changes(queue.waiting)}.`,
      mend: command('run'),
    };
  },
  circuit: ({ circuit, pausedUntil }, { command }) =>
    circuit
      ? {
          severity: 'fault',
          says:
            'The circuit is open: the partner service answers 403 to everything, as if it blocked this address. ' +
            `${pausedUntil === null ? 'The next request goes through as a trial.' : `Nothing is sent until ${pausedUntil}, then one request as a trial.`} ` +
            'Find out who sends more than it allows from here, and wait; a restart does not shorten it. When the service lets you in again:',
          mend: command('resume --early'),
          runbook: 'needsattention',
        }
      : undefined,
  'rate-limited': ({ hold, pausedUntil }, { command }) =>
    hold?.fault !== 'rate-limited' || pausedUntil === null
      ? undefined
      : {
          severity: 'note',
          since: hold.since,
          says: `The partner service asked the whole bridge to wait until ${pausedUntil}. If it agrees to end that early:`,
          mend: command('resume --early'),
        },
  held: ({ hold, circuit }, { nowMs }) =>
    circuit || hold === null || hold.fault === 'rate-limited'
      ? undefined
      : {
          severity: nowMs - Date.parse(hold.since) >= heldMs ? 'fault' : 'note',
          since: hold.since,
          says: `The partner service answers the requests of all partner accounts with the same fault (${hold.fault}). A bridge that runs tries again by itself.`,
        },
  table: ({ resourceFaults }) => ofResource('table', resourceFaults),
  schedule: ({ resourceFaults }) => ofResource('schedule', resourceFaults),
  mapping: ({ resourceFaults }) => ofResource('mapping', resourceFaults),
  'unreadable-row': ({ unreadable }) =>
    unreadable.map((flaw) => ({
      severity: 'fault',
      says: `A stored row cannot be read, so its partner account or feed is not polled: ${flaw}.`,
      mend: 'docs/operate/backup.md',
    })),
  'operator-paused': ({ paused }, { command }) =>
    paused
      ? {
          severity: 'attention',
          since: paused.since,
          says: `The whole bridge is paused by ${paused.who}${paused.reason === null ? '' : ` (${paused.reason})`}.`,
          mend: command('resume'),
        }
      : undefined,
  late: (status, { nowMs, requestsPerSecond = defaultRate }) => {
    const { oldestWaitingSeconds: oldest, queue, paused, pausedUntil, partnerAccounts } = status;
    // What waits for the end of a stop or a pause has a finding of its own.
    const isExplained =
      status.isRunning === false ||
      paused !== null ||
      pausedUntil !== null ||
      partnerAccounts.some(({ state, books }) => state !== 'polling' && books.inFlight > 0);
    const takesSeconds = queue.waiting / requestsPerSecond;
    if (oldest === null || isExplained || oldest <= lateSeconds + 2 * takesSeconds) return undefined;
    const waits = `${changes(queue.waiting)} waiting, the oldest for ${Math.round(oldest)} s, which would take ${Math.ceil(takesSeconds)} s`;
    return {
      severity: 'fault',
      since: new Date(nowMs - oldest * 1000).toISOString(),
      says: `${waits}: the partner service does not return their adverts, or the bridge does not publish. Its log says why.`,
      runbook: 'lateevents',
    };
  },
  'dead-letters': ({ queue }, { command }) =>
    queue.deadLetters === 0
      ? undefined
      : {
          severity: 'attention',
          says: `The bridge gave up on ${changes(queue.deadLetters)}. See why (\`${command('dead-letters list')}\`), and when the cause is fixed:`,
          mend: command('dead-letters redrive --all'),
          runbook: 'deadletters',
        },
  webhook: ({ webhooks = [] }, { nowMs, command }) =>
    webhooks.flatMap(({ address, state, failingSince, lastAnswer, waiting }): Found[] => {
      const isLong = failingSince !== null && nowMs - Date.parse(failingSince) >= heldMs;
      if (state !== 'gone' && !isLong) return [];
      return [
        {
          severity: 'fault',
          since: failingSince,
          says:
            `The webhook ${address} ${state === 'gone' ? 'is gone' : 'does not take its events'}${lastAnswer === null ? '' : ` (${lastAnswer})`}: ` +
            `${waiting} events are kept for it, for the retention of the run. Ask its owner; or forget it, with what waits:`,
          mend: command('webhook URL --forget'),
        },
      ];
    }),
  alarm: (status) => (status.alarms ?? []).map(alarmFinding),
  unseen: ({ unseen }) =>
    (unseen ?? []).map((what) => ({
      severity: 'attention',
      says: `AWS did not show ${what}.`,
      mend: 'docs/operate/deploy.md#what-status-has-to-be-allowed',
    })),
};

const connectAgain = ({ name }: AccountStatus, { command }: FindingOptions) => command(connectWords(name));
const storeApplication = ({ kind, command }: FindingOptions): string => command(applicationWords(kind));

/** A fault that the user of the account ends by authorizing again. */
const authorize =
  (because: string): AccountRule =>
  (account, options) => ({
    severity: 'fault',
    says: `${account.name}: ${because}. Have its user authorize again:`,
    mend: connectAgain(account, options),
    runbook: 'partneraccountstopped',
  });
const tooSmallScope = authorize('its user granted less than the bridge requires');
const refusedToken = authorize(
  'the service no longer accepts its refresh token (revoked, used elsewhere, or unused for a month)',
);

const unknownCause: AccountRule = ({ name, reason }) => ({
  severity: 'fault',
  says: `${name}: it needs manual action (${printableLine(reason ?? 'unknown')}).`,
});

const accountRules: Readonly<Record<string, AccountRule>> = {
  'operator-paused': ({ name, paused }, { command }) => ({
    severity: 'attention',
    since: paused?.since ?? null,
    says: `${name}: paused by ${paused?.who}${paused?.reason ? ` (${paused.reason})` : ''}.`,
    mend: command(`resume ${name}`),
  }),
  held: ({ name, hold, reason }) => ({
    severity: 'fault',
    since: hold?.since ?? null,
    says: `${name}: the service answers none of its requests (${printableLine(reason ?? hold?.fault ?? '')}). A bridge that runs tries again by itself.`,
  }),
  'refresh-token-rejected': refusedToken,
  'grant-rejected': refusedToken,
  'account-stopped': authorize('it has no credentials that work'),
  'scope-insufficient': tooSmallScope,
  'scope-refused': tooSmallScope,
  'client-rejected': ({ name }, options) => ({
    severity: 'fault',
    says: `${name}: the service refuses the client ID or the client secret. Store the right ones:`,
    mend: storeApplication(options),
  }),
  'malformed-state': (account, options) =>
    isAboutSecret(account.reason ?? '', 'application')
      ? {
          severity: 'fault',
          says: `${account.name}: the application's credentials are missing or damaged. Store them:`,
          mend: storeApplication(options),
        }
      : {
          severity: 'fault',
          says: `${account.name}: its stored data is damaged. If it is its secret:`,
          mend: connectAgain(account, options),
        },
  'wrong-path': ({ name }, options) => ({
    severity: 'fault',
    says: `${name}: there is no partner service at the base URL (it answers with a redirect, or does not know the path). Set the right one:`,
    mend: options.kind === 'local' ? storeApplication(options) : 'npx cdk deploy -c partnerBaseUrl=URL',
  }),
  'token-answer-broken': (account, options) => ({
    severity: 'fault',
    says: `${account.name}: the token endpoint gave an access token that cannot be sent; the bridge asks again. If this stays, ask the service, or authorize again:`,
    mend: connectAgain(account, options),
  }),
  'feed-stuck': ({ name }, { command }) => ({
    severity: 'fault',
    says: `${name}: its cursor does not move, or is rejected again and again; the bridge tries every five minutes. If this stays, ask the service, or read again from a time that it still knows:`,
    mend: command(`resync ${name} --since TIME`),
  }),
  lagging: ({ name, lagSeconds, lastSuccess }) => ({
    severity: 'fault',
    since: lastSuccess,
    says: `${name}: its feed was not read to its end for ${Math.round((lagSeconds ?? 0) / 60)} min.`,
    runbook: 'nosuccessfuldrain',
  }),
  'resource-unusable': ({ name, reason }, { command }) => ({
    severity: 'fault',
    says: `${name}: ${printableLine(reason ?? 'a resource of the bridge cannot be used')}. See what is missing or denied:`,
    mend: command('doctor'),
    runbook: 'needsattention',
  }),
  'feed-missing': (account, options) => ({
    severity: 'fault',
    says: `${account.name}: its feed is not registered as it should be, so it is not polled. Connect it again:`,
    mend: connectAgain(account, options),
  }),
  'refresh-token-dying': (account, options) => ({
    severity: 'attention',
    says: `${account.name}: its refresh token was not used for weeks and expires at ${account.refreshTokenExpiresAt}. Fix what prevents it from being refreshed (the log of refresh-token says what), or:`,
    mend: connectAgain(account, options),
  }),
};
