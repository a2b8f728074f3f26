import type { AccountStatus } from '../../operations/account-status.ts';
import { connectWords, requireKnown } from '../../operations/errors.ts';
import { type Finding, findingsOf, mendText, needsAttention, pageOf } from '../../operations/findings.ts';
import { readStatus, type Status } from '../../operations/status.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { type Clock, systemClock } from '../../shared/domain/clock.ts';
import { printableLine } from '../../shared/domain/text.ts';
import { type Counters, sumOf } from '../../shared/ports/store.ts';
import type { Books } from '../../shared/state/books.ts';
import { withBridge } from '../bridge/open.ts';
import { defineCommand } from '../shared/command.ts';
import { deliveryText } from '../shared/delivery.ts';
import { clearScreen, type ExitCode, exitCodes } from '../shared/io.ts';
import { flag, optionalName } from '../shared/options.ts';
import type { Target } from '../shared/target.ts';
import { answersLines, booksText, count, duration } from '../shared/wording.ts';

export const addStatus = defineCommand(
  {
    help: `show how the bridge is doing
Says whether the bridge delivers, then for each problem a sentence with the command that mends it. Exit code
3: something is left for a person. More than 20 partner accounts are summed up, first those that need a
person; --json has all of them.

Examples:
  advert-bridge status main --json   (the deployed stack)
  advert-bridge status --watch`,
    options: {
      name: optionalName('only this partner account'),
      watch: flag('again every five seconds, until Ctrl-C'),
    },
  },
  ({ io, target, options: { name, watch: isWatched }, json, answer }) =>
    withBridge(target, async (bridge) => {
      const version = { deployed: bridge.stack?.version ?? null, command: packageJson.version };
      const isRedrawn = isWatched && !json && io.stdout.isTTY === true;
      const report = async () => {
        const nowMs = systemClock.now();
        const status = await readStatus(bridge, nowMs, name);
        const isFlawed = status.unreadable.some((flaw) => flaw.startsWith(`partner account ${name}:`));
        if (status.partnerAccounts.length === 0 && !isFlawed)
          await requireKnown(bridge.partnerAccounts, name);
        const findings = findingsOf(status, { ...target, nowMs });
        if (isRedrawn) clearScreen(io);
        const urgent = findings.filter((one) => one.partnerAccount === null && one.severity !== 'note');
        const attention = [...new Set(urgent.map(({ what }) => what))];
        const data = { ...status, attention, findings, version };
        answer(data, statusText(data, target, nowMs));
        return needsAttention(findings) ? exitCodes.needsPerson : exitCodes.done;
      };
      return isWatched ? watch(report, systemClock, io.untilStopped()) : report();
    }),
);

const watchedMs = 5_000;

/** Reports every five seconds until the signal. @returns the exit code of the last report */
export async function watch(
  report: () => Promise<ExitCode>,
  clock: Clock,
  signal: AbortSignal,
): Promise<ExitCode> {
  for (;;) {
    const exitCode = await report();
    await clock.sleep(watchedMs, signal);
    if (signal.aborted) return exitCode;
  }
}

interface Shown extends Status {
  readonly findings: readonly Finding[];
  /** `deployed`: null for an embedded bridge. */
  readonly version: { readonly deployed: string | null; readonly command: string };
}

/** Of more partner accounts than this, only those that need somebody, wait or fail are shown, and the totals. */
const maxInFull = 20;
const maxShown = 10;

export function statusText(status: Shown, target: Target, nowMs: number): string {
  const { findings, partnerAccounts, paused, pausedUntil } = status;
  const held = paused ? 'is paused' : pausedUntil === null ? undefined : 'waits';
  const polling = held ? `not polled, because the whole bridge ${held}` : 'polling';
  const states = { polling, paused: 'paused', stopped: 'stopped' };
  const findingLines = (name: string | null) =>
    findings
      .filter(({ partnerAccount }) => partnerAccount === name)
      .map((one) => `${one.says} ${mendText(one) || (one.runbook ? `See ${pageOf(one)}` : '')}`.trim());
  const accountLines = (account: AccountStatus, more: readonly string[]): string[] => {
    const { name, state, reason } = account;
    const why = reason === null ? '' : ` (${printableLine(reason)})`;
    const found = findingLines(name);
    if (state === 'stopped' && found.length === 0)
      found.push(`to connect it again: \`${target.command(connectWords(name))}\``);
    return [`${name}: ${states[state]}${why}`, ...[...more, ...found].map((line) => `  ${line}`)];
  };
  const accounts = partnerAccounts.toSorted((a, b) => urgencyOf(b) - urgencyOf(a));
  const urgent = accounts.filter((account) => urgencyOf(account) > 0);
  const totals = Object.entries(states).map(
    ([state, says]) => `${count(accounts.filter((account) => account.state === state).length)} ${says}`,
  );
  const shown =
    accounts.length > maxInFull
      ? [
          `${count(accounts.length)} partner accounts: ${totals.join(', ')}`,
          ...urgent.slice(0, maxShown).flatMap((account) => accountLines(account, [])),
          ...crowdLines(accounts, urgent.length - maxShown, target),
        ]
      : accounts.flatMap((account) => accountLines(account, wholeLines(account)));
  return [
    deliveryText(status, findings),
    ...shown,
    ...bridgeLines(status, nowMs),
    ...(target.kind === 'stack' ? [stackLine(status, target.stack)] : []),
    ...findingLines(null),
  ].join('\n');
}

/** Accounts that need somebody, then waiting ones, then those whose last poll failed; otherwise sorted by name. */
const urgencyOf = ({ needsPerson: isUrgent, state, reason }: AccountStatus): number => {
  if (isUrgent) return 3;
  return state === 'paused' ? 2 : Number(state === 'polling' && reason !== null);
};

/** @param hidden how many of those that need somebody, wait or fail are not shown */
function crowdLines(accounts: readonly AccountStatus[], hidden: number, target: Target): string[] {
  const lagOf = ({ state, lagSeconds }: AccountStatus) => (state === 'polling' ? (lagSeconds ?? 0) : -1);
  const [behind] = accounts.toSorted((a, b) => lagOf(b) - lagOf(a));
  const all = accounts.map(
    ({ books, redelivered }): Counters => (redelivered === undefined ? books : { ...books, redelivered }),
  );
  const { redelivered, ...books } = all.reduce(sumOf) as Counters & Books;
  return [
    ...(hidden > 0 ? [`and ${count(hidden)} more that need manual action, wait or fail`] : []),
    ...(behind && lagOf(behind) >= 0 ? [`furthest behind: ${behind.name}, ${duration(lagOf(behind))}`] : []),
    `books: ${booksText({ books, redelivered })}`,
    `One of them in full: \`${target.command('status NAME')}\`; all of them: \`${target.command('status --json')}\``,
  ];
}

function wholeLines(account: AccountStatus): string[] {
  const { state, lastSuccess, lagSeconds, cursorResets, lastCursorReset, tokenExpiresAt } = account;
  const behind = duration(lagSeconds ?? 0);
  const read =
    lastSuccess === null
      ? `not read to its end yet, ${behind} after it was connected`
      : `${behind} behind (last success ${lastSuccess})`;
  const last = lastCursorReset === null ? '' : `, last at ${lastCursorReset}`;
  const resets = cursorResets === 0 ? '' : `, cursor rejected ${count(cursorResets)} times${last}`;
  const token = state === 'stopped' ? 'no longer used' : `until ${tokenExpiresAt}, then refreshed`;
  return [
    `feed:  ${lagSeconds === null ? 'none' : read}${resets}`,
    `token: ${tokenExpiresAt === null ? 'none' : token}`,
    `books: ${booksText(account)}`,
  ];
}

const waitsText = (oldestSeconds: number | null): string =>
  oldestSeconds === null ? '' : ` (the oldest for ${duration(oldestSeconds)})`;

function bridgeLines(status: Status, nowMs: number): string[] {
  const { queue, oldestWaitingSeconds: oldest, lastDrain, budget, answers, webhooks = [] } = status;
  const polled = lastDrain === null ? 0 : Math.max(0, nowMs - Date.parse(lastDrain)) / 1000;
  const reserved = `reserved for the next ${duration(budget.reservedSeconds)}; a new request waits that long`;
  return [
    `queue: ${count(queue.waiting)} waiting${waitsText(oldest)}, ${count(queue.deadLetters)} dead-lettered`,
    ...(lastDrain === null ? [] : [`last poll: ${duration(polled)} ago`]),
    ...(budget.reservedSeconds > 1 ? [`rate budget: ${reserved}`] : []),
    ...(answers ? answersLines(answers) : []),
    ...webhooks.map(({ address, state, waiting, oldestSeconds, failingSince, lastAnswer }) => {
      const fails = failingSince === null ? '' : ` since ${failingSince} (${lastAnswer})`;
      return `webhook ${address}: ${state}${fails}, ${count(waiting)} events waiting${waitsText(oldestSeconds)}`;
    }),
  ];
}

function stackLine(
  { schedule, mapping, alarms, version: { deployed, command } }: Shown,
  stack: string,
): string {
  const version = `version ${deployed ?? 'unknown'}${command === deployed ? '' : ` (this command: ${command})`}`;
  const raised = alarms ? `${count(alarms.length)} raised` : 'unknown';
  return `stack ${stack}: ${version}, schedule ${schedule}, event source mapping ${mapping}, alarms ${raised}`;
}
