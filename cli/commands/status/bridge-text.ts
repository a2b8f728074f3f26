/** The part of `status` about the whole bridge: the queue, pauses, AWS resources, and a sentence for each cause. */
import type { ShownPause } from '../../../operations/account-status.ts';
import { textOfPlace } from '../../../operations/stack-place.ts';
import type { ShownWebhook, Status } from '../../../operations/status.ts';
import { makeAgain } from '../../shared/explain-aws.ts';
import { commandFor, type Target } from '../../shared/target.ts';
import { count, duration } from '../../shared/wording.ts';

export interface Versions {
  /** Null for an embedded bridge. */
  readonly deployed: string | null;
  readonly command: string;
}

/** @param versions only those of a stack are shown */
export function bridgeLines(status: Status, target: Target, nowMs: number, versions?: Versions): string[] {
  const { queue, oldestWaitingSeconds: oldest, lastDrain, budget, pausedUntil, circuit, paused } = status;
  const waits = oldest === null ? '' : ` (the oldest for ${duration(oldest)})`;
  const lines = [`queue: ${count(queue.waiting)} waiting${waits}, ${count(queue.deadLetters)} dead-lettered`];
  if (lastDrain !== null) lines.push(`last poll: ${ago(lastDrain, nowMs)}`);
  if (budget.reservedSeconds > 1)
    lines.push(
      `rate budget: reserved for the next ${duration(budget.reservedSeconds)}; a new request waits that long`,
    );
  for (const webhook of status.webhooks ?? []) lines.push(webhookText(webhook));
  if (target.kind === 'stack') lines.push(stackLine(status, textOfPlace(target), versions));
  if (paused) lines.push(`The whole bridge is ${pausedText(paused, commandFor(target, 'resume'))}`);
  if (pausedUntil !== null && !circuit) {
    const seconds = Math.ceil((Date.parse(pausedUntil) - nowMs) / 1000);
    lines.push(`The partner service asked the whole bridge to wait until ${pausedUntil} (${seconds} s).`);
  }
  return [...lines, ...status.attention.flatMap((cause) => sentences[cause]?.(status, target, nowMs) ?? [])];
}

export const pausedText = ({ who, since, until, reason }: ShownPause, command: string): string =>
  `paused by ${who} since ${since}, ` +
  `${until === null ? 'until somebody resumes it' : `until ${until}`}${reason === null ? '' : ` (${reason})`}. ` +
  `To end that: \`${command}\``;

function webhookText({
  address,
  state,
  waiting,
  oldestSeconds,
  failingSince,
  lastAnswer,
}: ShownWebhook): string {
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

const ago = (instant: string, nowMs: number): string =>
  `${duration(Math.max(0, nowMs - Date.parse(instant)) / 1000)} ago`;

type Sentence = (status: Status, target: Target, nowMs: number) => string | string[];

/** AWS requires the whole schedule again with each change. */
const enableSchedule = (name: string): string =>
  'aws scheduler update-schedule --state ENABLED --cli-input-json ' +
  `"$(aws scheduler get-schedule --name ${name} --output json --query '{Name:Name,GroupName:GroupName,Description:Description,` +
  'ScheduleExpression:ScheduleExpression,FlexibleTimeWindow:FlexibleTimeWindow,Target:Target}\')"';

/** One line for each cause, with the command that fixes it. */
const sentences: Readonly<Record<string, Sentence>> = {
  circuit: ({ pausedUntil }, target, nowMs) =>
    'The circuit is open: the partner service answers 403 to everything, as if it blocked this address. ' +
    (pausedUntil === null
      ? 'The next request goes through as a trial. '
      : `Nothing is sent until ${pausedUntil} (${Math.ceil((Date.parse(pausedUntil) - nowMs) / 1000)} s), then one request as a trial. `) +
    'Find out who sends more than it allows from here, and wait; a restart does not shorten it. ' +
    `When the service lets you in again: \`${commandFor(target, 'resume --early')}\``,
  schedule: ({ schedule, schedulesOff = [] }) => [
    `The schedule is not as deployed (${schedule}): its function does not run automatically.`,
    ...schedulesOff.map((name) => `Switch it on: \`${enableSchedule(name)}\``),
    ...(schedule?.includes('missing') ? [`Make it again: ${makeAgain}`] : []),
  ],
  mapping: ({ mapping, mappingId }) =>
    `The event source mapping of fan-out is ${mapping}: changes wait in the queue, and no event is published. ` +
    (mappingId === null
      ? `Make it again: ${makeAgain}`
      : `Switch it on: \`aws lambda update-event-source-mapping --uuid ${mappingId} --enabled\``),
  'unreadable-row': ({ unreadable }) =>
    unreadable.map(
      (flaw) =>
        `A stored row cannot be read, so its partner account or feed is not polled: ${flaw}. Restore it: docs/operate/backup.md`,
    ),
  'dead-letters': (_status, target) =>
    'The bridge gave up on some adverts: there are dead letters. See why: ' +
    `\`${commandFor(target, 'dead-letters list')}\`; then send them again: \`${commandFor(target, 'dead-letters redrive --all')}\``,
  webhook: (_status, target) =>
    'A webhook does not take its events: they are kept for the retention of the run (72 hours by default), and sent when it ' +
    `takes them again. Ask its owner; or forget it, with what waits: \`${commandFor(target, 'webhook URL --forget')}\``,
  alarm: ({ alarms }) =>
    (alarms ?? []).map(
      ({ name, says, since }) =>
        `The alarm ${name} is raised${since === null ? '' : ` since ${since}`}. ${says}`,
    ),
  unseen: ({ unseen }) =>
    (unseen ?? []).map(
      (what) =>
        `AWS did not show ${what}. What status has to be allowed: docs/operate/deploy.md#what-status-has-to-be-allowed`,
    ),
};
