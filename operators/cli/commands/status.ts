import packageJson from '../../../package.json' with { type: 'json' };
import { type Clock, systemClock } from '../../../shared/domain/clock.ts';
import { type Counters, sumOf } from '../../../shared/ports/store.ts';
import { requireKnown } from '../../operations/errors.ts';
import {
  deliveryVerdict,
  type Finding,
  findingsOf,
  leavesWork,
  mendText,
  resourceFinding,
} from '../../operations/findings/findings.ts';
import type { AccountStatus, Status } from '../../operations/printed.ts';
import { readStatus } from '../../operations/status.ts';
import { withBridge } from '../bridge/open.ts';
import { defineCommand } from '../shared/command.ts';
import { clearScreen, type ExitCode, exitCodes, firstScreen, type Line } from '../shared/io.ts';
import { flag, optionalName } from '../shared/options.ts';
import type { Target } from '../shared/target.ts';
import { answersLines, count, countsText, duration, factLines, factTable } from '../shared/wording.ts';

export const addStatus = defineCommand(
  {
    help: `show how the bridge is doing
Says whether the bridge delivers, then for each problem a sentence with the command that mends it, then the
figures. Exit code 3: something is left for a person. Of many partner accounts, the 20 worst and totals are
shown; with a NAME, all that is known of one. --json has everything.

Examples:
  $0 status main --json   (the deployed stack)
  $0 status --watch`,
    options: {
      name: optionalName('only this partner account'),
      watch: flag('again every five seconds, until Ctrl-C'),
    },
  },
  ({ io, target, options: { name, watch: isWatched }, json, answer }) =>
    withBridge(target, async (bridge) => {
      const { host } = bridge;
      const deployed = host.kind === 'stack' ? host.version : null;
      const version = { deployed, command: packageJson.version };
      const isRedrawn = isWatched && !json && io.stdout.isTTY === true;
      const report = async () => {
        const nowMs = systemClock.now();
        const status = await readStatus(bridge, nowMs, name);
        const isFlawed = status.unreadableRows.some(({ row }) => row === `account/${name}`);
        if (status.partnerAccounts.length === 0 && !isFlawed)
          await requireKnown(bridge.partnerAccounts, name);
        const findings = findingsOf(status, { ...target, nowMs });
        if (isRedrawn) clearScreen(io);
        const urgent = findings.filter((one) => one.partnerAccount === null && one.severity !== 'note');
        const attention = [...new Set(urgent.map(({ what }) => what))];
        const resourceFaults = status.resourceFaults?.map((fault) => {
          const { says, mend } = resourceFinding(fault, target);
          return { ...fault, says, mend };
        });
        const data = { ...status, resourceFaults, attention, findings, version };
        const lines = statusLines(data, target, nowMs);
        answer(data, ...(isRedrawn ? firstScreen(io, lines) : lines));
        return leavesWork(findings) ? exitCodes.needsPerson : exitCodes.done;
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

/** So many findings, and so many rows of partner accounts, fit a screen. */
const maxShown = 20;

export function statusLines(status: Shown, target: Target, nowMs: number): Line[] {
  const { findings, answers, webhooks = [] } = status;
  const isOfOne = ({ partnerAccount }: Finding) => Number(partnerAccount !== null);
  // Those of the whole bridge first: of those of many partner accounts, not all are shown.
  const found = findings
    .toSorted((a, b) => isOfOne(a) - isOfOne(b))
    .map((one) => `${one.severity}: ${one.says} ${mendText(one)}`.trim());
  const ofWebhooks = webhooks.map(({ oldestSeconds: _oldest, maxEvents: _most, ...webhook }) => webhook);
  const { how, says } = deliveryVerdict(status, findings);
  const parts: readonly (readonly Line[])[] = [
    [{ tone: tones[how], text: says }, ...found.slice(0, maxShown), ...moreLines(found.length)],
    accountLines(status),
    [...bridgeLines(status, target, nowMs), ...(answers ? answersLines(answers) : [])],
    factTable(ofWebhooks),
  ];
  const shown = parts.filter((lines) => lines.length > 0);
  return shown.flatMap((lines, index) => (index === 0 ? lines : ['', ...lines]));
}

const tones = { delivering: 'green', partly: 'yellow', late: 'yellow', not: 'red' } as const;

const moreLines = (number: number): string[] =>
  number > maxShown ? [`and ${count(number - maxShown)} more: --json has all of them`] : [];

/** One in full; several as a table, the worst first. */
function accountLines({ partnerAccounts, paused, pausedUntil }: Status): Line[] {
  const polling = paused || pausedUntil !== null ? 'not polled' : 'polling';
  const stateOf = ({ state }: AccountStatus) => (state === 'polling' ? polling : state);
  const lagOf = ({ lagSeconds }: AccountStatus) => (lagSeconds === null ? null : duration(lagSeconds));
  const accounts = partnerAccounts.toSorted((a, b) => urgencyOf(b) - urgencyOf(a));
  const [first, second] = accounts;
  if (first && !second) {
    const { generation: _generation, lagSeconds: _seconds, books, ...facts } = first;
    return factLines({ ...facts, state: stateOf(first), lag: lagOf(first), ...books });
  }
  const rows = accounts.slice(0, maxShown).map((account) => ({
    partnerAccount: account.name,
    state: stateOf(account),
    lag: lagOf(account),
    events: account.books.events,
    inFlight: account.books.inFlight,
    deadLettered: account.books.deadLettered,
    reason: account.reason,
  }));
  if (accounts.length <= maxShown) return factTable(rows);
  const each = accounts.map((account): Counters => ({ ...account.books, [stateOf(account)]: 1 }));
  const all = `all ${count(accounts.length)} partner accounts: ${countsText(each.reduce(sumOf))}`;
  return [...factTable(rows), ...moreLines(accounts.length), all];
}

/** Accounts that need somebody, then those that wait or failed; otherwise sorted by name. */
const urgencyOf = ({ needsPerson: isUrgent, reason }: AccountStatus): number =>
  2 * Number(isUrgent) + Number(reason !== null);

/** A folder has none of what AWS runs. */
function bridgeLines(status: Shown, target: Target, nowMs: number): string[] {
  const { queue, oldestWaitingSeconds: oldest, lastDrain, budget, version } = status;
  return factLines({
    ...queue,
    oldestWaits: oldest === null ? null : duration(oldest),
    lastPoll: lastDrain && `${duration(Math.max(0, nowMs - Date.parse(lastDrain)) / 1000)} ago`,
    newRequestWaits: duration(budget.reservedSeconds),
    stack: target.kind === 'stack' ? target.stack : null,
    versionOfStack: version.deployed,
    versionOfCommand: version.command,
    schedule: status.schedule,
    eventSourceMapping: status.mapping,
    raisedAlarms: status.alarms?.length,
  });
}
