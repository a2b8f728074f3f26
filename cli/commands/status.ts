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

/** With more partner accounts than this, a summary is shown. */
const maxInFull = 20;
/** How many accounts of each kind a summary shows. */
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
  const { partnerAccounts } = status;
  const standstill = standstillOf(status);
  const of = (name: string | null) => findings.filter(({ partnerAccount }) => partnerAccount === name);
  const accounts =
    partnerAccounts.length <= maxInFull
      ? [...partnerAccounts]
          .sort(byUrgency)
          .flatMap((account) => [
            headLine(account, standstill),
            `  feed:  ${readText(account)}`,
            `  token: ${tokenText(account)}`,
            `  books: ${booksText(account)}`,
            ...leftLines(account, of(account.name), target).map((line) => `  ${line}`),
          ])
      : crowdLines(partnerAccounts, of, target, standstill);
  const ofBridge = of(null).map(findingText);
  return [
    deliveryText(status, findings),
    ...accounts,
    ...bridgeLines(status, target, nowMs, versions),
    ...ofBridge,
  ].join('\n');
}

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

const byUrgency = (a: AccountStatus, b: AccountStatus): number => urgencyOf(b) - urgencyOf(a);

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

/** Many accounts: those that need somebody, those that wait or fail, the one furthest behind, the totals. */
function crowdLines(
  accounts: readonly AccountStatus[],
  findingsFor: (name: string) => readonly Finding[],
  target: Target,
  standstill: string | undefined,
): string[] {
  const inState = (state: AccountStatus['state']) => accounts.filter((account) => account.state === state);
  const states = (['polling', 'paused', 'stopped'] as const).map(
    (state) => `${count(inState(state).length)} ${state === 'polling' ? (standstill ?? state) : state}`,
  );
  const urgent = accounts.filter((account) => account.needsPerson);
  const unwell = accounts.filter((account) => !account.needsPerson && urgencyOf(account) > 0);
  const behind = accounts
    .filter(({ state, lagSeconds }) => state === 'polling' && lagSeconds !== null)
    .toSorted((a, b) => (b.lagSeconds ?? 0) - (a.lagSeconds ?? 0));
  const isCountedPerDelivery = accounts.some(({ redelivered }) => redelivered !== undefined);
  const sums = accounts.map(({ books, redelivered = 0 }) => ({ ...books, redelivered })).reduce(sumOf);
  return [
    `${count(accounts.length)} partner accounts: ${states.join(', ')}`,
    ...(urgent.length > 0 ? [`${count(urgent.length)} of them need manual action:`] : []),
    ...urgent
      .slice(0, maxShown)
      .flatMap((account) => [
        `  ${headLine(account, standstill)}`,
        ...leftLines(account, findingsFor(account.name), target).map((line) => `    ${line}`),
      ]),
    ...andMore(urgent),
    ...(unwell.length > 0 ? [`${count(unwell.length)} wait or fail for now:`] : []),
    ...unwell.slice(0, maxShown).map((account) => `  ${headLine(account, standstill)}`),
    ...andMore(unwell),
    ...behind
      .slice(0, 1)
      .map(({ name, lagSeconds }) => `furthest behind: ${name}, ${duration(lagSeconds ?? 0)}`),
    `books: ${booksText(isCountedPerDelivery ? { books: sums, redelivered: sums.redelivered } : { books: sums })}`,
    `One of them in full: \`${commandFor(target, 'status NAME')}\`; all of them: \`${commandFor(target, 'status --json')}\``,
  ];
}

const andMore = ({ length }: readonly AccountStatus[]): string[] =>
  length > maxShown ? [`  and ${count(length - maxShown)} more`] : [];

type Sums = AccountStatus['books'] & { readonly redelivered: number };

const sumOf = (a: Sums, b: Sums): Sums =>
  Object.fromEntries(
    Object.entries(a).map(([term, value]) => [term, value + b[term as keyof Sums]]),
  ) as unknown as Sums;

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
