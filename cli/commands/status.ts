import type { AccountStatus } from '../../operations/account-status.ts';
import { textOfPlace, unknownAccount } from '../../operations/errors.ts';
import {
  deliveryText,
  type Finding,
  findingsOf,
  isPage,
  needsAttention,
  pageOf,
} from '../../operations/findings.ts';
import { readStatus, type ShownWebhook, type Status, type StatusPorts } from '../../operations/status.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { type Clock, systemClock } from '../../shared/domain/clock.ts';
import { answersLines } from '../../shared/domain/text/answers-text.ts';
import { printableLine } from '../../shared/domain/text.ts';
import { withBridge } from '../bridge/open.ts';
import { defineCommand } from '../shared/command.ts';
import { connectCommand } from '../shared/explain.ts';
import { clearScreen, type ExitCode, exitCodes, type Io } from '../shared/io.ts';
import { flag, optionalName } from '../shared/options.ts';
import { commandFor, type Target } from '../shared/target.ts';
import { booksText, count, duration } from '../shared/wording.ts';

export const addStatus = defineCommand(
  {
    name: 'status',
    group: 'watch',
    summary: 'show how the bridge is doing',
    description:
      'Says whether the bridge delivers, then lag, token expiry, books, the queue and what AWS runs, and for each problem ' +
      'a sentence with the command that mends it.',
    more: `Exit code 3 means that something is left for a person. More than 20 partner
accounts are summed up, first those that need a person; --json has all of them.

Examples:
  advert-bridge status --local .advert-bridge
  advert-bridge status main --json   (the deployed stack)
  advert-bridge status --watch`,
    args: { name: optionalName('only this partner account') },
    options: { watch: flag('again every five seconds, until Ctrl-C') },
  },
  ({ io, target, args: { name }, options, json, answer }) =>
    withBridge(target, async (bridge) => {
      // A stack is asked for them with a call of Lambda.
      const requestsPerSecond =
        bridge.kind === 'local' ? (await bridge.settings()).maxRequestsPerSecond : undefined;
      const clock = systemClock;
      const version = { deployed: bridge.stack?.version ?? null, command: packageJson.version };
      const report = async (clear = () => {}) => {
        const status = await statusOf(bridge, clock.now(), name);
        const findings = findingsIn(status, target, clock.now(), requestsPerSecond);
        clear();
        const attention = findings.filter(isUrgentOfBridge).map(({ what }) => what);
        const data = { ...status, attention: [...new Set(attention)], findings, version };
        answer(data, statusText(status, target, clock.now(), version, findings));
        return needsAttention(findings) ? exitCodes.needsPerson : exitCodes.done;
      };
      if (!options.watch) return report();
      const redraws = !json && io.stdout.isTTY === true;
      return watch({ io, clock, signal: io.untilStopped(), redraws }, report);
    }),
);

const isUrgentOfBridge = ({ partnerAccount, severity }: Finding): boolean =>
  partnerAccount === null && severity !== 'note';

/** @throws {UsageError} for a partner account that is not known */
async function statusOf(ports: StatusPorts, nowMs: number, name: string | undefined) {
  const status = await readStatus(ports, nowMs, name);
  const isThere =
    status.partnerAccounts.length > 0 ||
    status.unreadable.some((flaw) => flaw.startsWith(`partner account ${name}:`));
  if (name === undefined || isThere) return status;
  throw unknownAccount(await ports.partnerAccounts.list(() => undefined));
}

const findingsIn = (status: Status, target: Target, nowMs: number, requestsPerSecond?: number): Finding[] =>
  findingsOf(status, {
    ...{ nowMs, requestsPerSecond, kind: target.kind },
    command: (words) => commandFor(target, words),
  });

const watchedMs = 5_000;

export interface Watching {
  readonly io: Io;
  readonly clock: Clock;
  /** Ends the watch mode. */
  readonly signal: AbortSignal;
  /** On a terminal, each report replaces the one before. Otherwise, and for JSON, they are printed one after the other. */
  readonly redraws: boolean;
}

/**
 * Reports every five seconds until the signal.
 *
 * @param report calls `clear`, shows one report, and resolves with its exit code
 * @returns the exit code of the last report
 */
export async function watch(
  { io, clock, signal, redraws }: Watching,
  report: (clear: () => void) => Promise<ExitCode>,
): Promise<ExitCode> {
  for (;;) {
    const exitCode = await report(() => {
      if (redraws) clearScreen(io);
    });
    await clock.sleep(watchedMs, signal);
    if (signal.aborted) return exitCode;
  }
}

interface Versions {
  /** Null for an embedded bridge. */
  readonly deployed: string | null;
  readonly command: string;
}

/** Of more partner accounts than this, only those that need somebody, wait or fail are shown, and the totals. */
const maxInFull = 20;
const maxShown = 10;

/**
 * The status as text: whether the bridge delivers; a few lines for each partner account, those that need somebody first;
 * the queue; what is wrong with the whole bridge.
 *
 * @param versions only those of a stack are shown
 */
export function statusText(
  status: Status,
  target: Target,
  nowMs: number,
  versions?: Versions,
  findings = findingsIn(status, target, nowMs),
): string {
  const standstill = standstillOf(status);
  const of = (name: string | null) => findings.filter(({ partnerAccount }) => partnerAccount === name);
  const accounts = status.partnerAccounts.toSorted((a, b) => urgencyOf(b) - urgencyOf(a));
  const isCrowd = accounts.length > maxInFull;
  const shown = isCrowd ? accounts.filter((account) => urgencyOf(account) > 0) : accounts;
  return [
    deliveryText(status, findings),
    ...(isCrowd ? [totalsLine(accounts, standstill)] : []),
    ...shown
      .slice(0, isCrowd ? maxShown : maxInFull)
      .flatMap((account) => [
        headLine(account, standstill),
        ...(isCrowd ? [] : accountLines(account)),
        ...leftLines(account, of(account.name), target).map((line) => `  ${line}`),
      ]),
    ...(isCrowd ? crowdLines(accounts, shown.length - maxShown, target) : []),
    ...bridgeLines(status, target, nowMs, versions),
    ...of(null).map(findingText),
  ].join('\n');
}

const accountLines = (account: AccountStatus): string[] => [
  `  feed:  ${readText(account)}`,
  `  token: ${tokenText(account)}`,
  `  books: ${booksText(account)}`,
];

function findingText(finding: Finding): string {
  const { says, mend, runbook } = finding;
  if (mend !== null) return `${says} ${isPage(mend) ? mend : `\`${mend}\``}`;
  return runbook === null ? says : `${says} See ${pageOf(finding)}`;
}

function leftLines({ name, state }: AccountStatus, findings: readonly Finding[], target: Target): string[] {
  return state === 'stopped' && findings.length === 0
    ? [`to connect it again: \`${connectCommand(target, name)}\``]
    : findings.map(findingText);
}

/** Accounts that need somebody, then waiting ones, then those whose last poll failed; otherwise sorted by name. */
const urgencyOf = ({ needsPerson: isUrgent, state, reason }: AccountStatus): number => {
  if (isUrgent) return 3;
  return state === 'paused' ? 2 : Number(state === 'polling' && reason !== null);
};

/** Why no partner account is polled at all, whatever its own state; undefined if polling continues. */
function standstillOf({ paused, pausedUntil }: Status): string | undefined {
  if (paused) return 'not polled, because the whole bridge is paused';
  return pausedUntil === null ? undefined : 'not polled, because the whole bridge waits';
}

function totalsLine(accounts: readonly AccountStatus[], standstill: string | undefined): string {
  const states = (['polling', 'paused', 'stopped'] as const).map((state) => {
    const { length } = accounts.filter((account) => account.state === state);
    return `${count(length)} ${state === 'polling' ? (standstill ?? state) : state}`;
  });
  return `${count(accounts.length)} partner accounts: ${states.join(', ')}`;
}

/** @param hidden how many of those that need somebody, wait or fail are not shown */
function crowdLines(accounts: readonly AccountStatus[], hidden: number, target: Target): string[] {
  const polled = accounts.filter(({ state }) => state === 'polling');
  const [behind] = polled.toSorted((a, b) => (b.lagSeconds ?? 0) - (a.lagSeconds ?? 0));
  return [
    ...(hidden > 0 ? [`and ${count(hidden)} more that need manual action, wait or fail`] : []),
    ...(behind ? [`furthest behind: ${behind.name}, ${duration(behind.lagSeconds ?? 0)}`] : []),
    `books: ${booksText(accounts.reduce(sumOf))}`,
    `One of them in full: \`${commandFor(target, 'status NAME')}\`; all of them: \`${commandFor(target, 'status --json')}\``,
  ];
}

type Books = Pick<AccountStatus, 'books' | 'redelivered'>;

function sumOf<T extends Books>(a: T, b: T): T {
  const sums = Object.entries(a.books).map(([term, value]) => [
    term,
    value + b.books[term as keyof Books['books']],
  ]);
  const redelivered =
    a.redelivered === undefined ? {} : { redelivered: a.redelivered + (b.redelivered ?? 0) };
  return { ...a, books: Object.fromEntries(sums), ...redelivered };
}

function readText({ lastSuccess, lagSeconds, cursorResets, lastCursorReset }: AccountStatus): string {
  const last = lastCursorReset === null ? '' : `, last at ${lastCursorReset}`;
  const resets = cursorResets === 0 ? '' : `, cursor rejected ${count(cursorResets)} times${last}`;
  if (lagSeconds === null) return `none${resets}`;
  return lastSuccess === null
    ? `not read to its end yet, ${duration(lagSeconds)} after it was connected${resets}`
    : `${duration(lagSeconds)} behind (last success ${lastSuccess})${resets}`;
}

function tokenText({ state, tokenExpiresAt }: AccountStatus): string {
  if (tokenExpiresAt === null) return 'none';
  return state === 'stopped' ? 'no longer used' : `until ${tokenExpiresAt}, then refreshed`;
}

const headLine = ({ name, state, reason }: AccountStatus, standstill: string | undefined): string =>
  `${name}: ${state === 'polling' ? (standstill ?? state) : state}${reason === null ? '' : ` (${printableLine(reason)})`}`;

function bridgeLines(status: Status, target: Target, nowMs: number, versions?: Versions): string[] {
  const { queue, oldestWaitingSeconds: oldest, lastDrain, budget } = status;
  const waits = oldest === null ? '' : ` (the oldest for ${duration(oldest)})`;
  const lines = [`queue: ${count(queue.waiting)} waiting${waits}, ${count(queue.deadLetters)} dead-lettered`];
  if (lastDrain !== null)
    lines.push(`last poll: ${duration(Math.max(0, nowMs - Date.parse(lastDrain)) / 1000)} ago`);
  if (budget.reservedSeconds > 1)
    lines.push(
      `rate budget: reserved for the next ${duration(budget.reservedSeconds)}; a new request waits that long`,
    );
  if (status.answers) lines.push(...answersLines(status.answers));
  for (const webhook of status.webhooks ?? []) lines.push(webhookText(webhook));
  if (target.kind === 'stack') lines.push(stackLine(status, textOfPlace(target), versions));
  return lines;
}

function webhookText(webhook: ShownWebhook): string {
  const { address, state, waiting, oldestSeconds, failingSince, lastAnswer } = webhook;
  const waits = oldestSeconds === null ? '' : ` (the oldest for ${duration(oldestSeconds)})`;
  const fails = failingSince === null ? '' : ` since ${failingSince} (${lastAnswer})`;
  return `webhook ${address}: ${state}${fails}, ${count(waiting)} events waiting${waits}`;
}

function stackLine({ schedule, mapping, alarms }: Status, stack: string, versions?: Versions): string {
  const { deployed = null, command } = versions ?? {};
  const version = `version ${deployed ?? 'unknown'}${command === deployed ? '' : ` (this command: ${command})`}`;
  const raised = alarms ? `${count(alarms.length)} raised` : 'unknown';
  return `stack ${stack}: ${version}, schedule ${schedule}, event source mapping ${mapping}, alarms ${raised}`;
}
