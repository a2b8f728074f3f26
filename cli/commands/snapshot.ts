import * as v from 'valibot';
import { UsageError } from '../../operations/errors.ts';
import { type SnapshotOptions, snapshot, snapshotToWebhook } from '../../operations/snapshot.ts';
import { linesOf, shownUrl } from '../../shared/domain/text.ts';
import { withLocal, withStack } from '../bridge/open.ts';
import { webhookUrl } from '../run/options.ts';
import { secretsOf, webhookFrom } from '../run/webhooks.ts';
import { defineCommand } from '../shared/command.ts';
import { exitCodes, type Io, stream } from '../shared/io.ts';
import { option, optionalName, text } from '../shared/options.ts';
import { withProgress } from '../shared/progress.ts';
import type { LocalTarget, StackTarget, Target } from '../shared/target.ts';
import { webhookCommand } from '../shared/target.ts';
import { count } from '../shared/wording.ts';

export const addSnapshot = defineCommand(
  {
    name: 'snapshot',
    group: 'act',
    summary: "send every advert's latest event to one subscriber",
    description: "Sends every advert's latest event, as it was recorded, to one subscriber and no other.",
    more: `For a subscriber that is new or has lost its data. The partner service is not
asked. Each event is sent as it was recorded: subscribe first, then take the
snapshot; it may be repeated. With --local, events go to standard output, or are
stored for a webhook that \`run --webhook\` serves.

Examples:
  advert-bridge snapshot --to https://sqs.eu-central-1.amazonaws.com/111122223333/search
  advert-bridge snapshot main --to arn:aws:events:eu-central-1:444455556666:event-bus/search
  advert-bridge snapshot --local .advert-bridge > adverts.ndjson`,
    args: { name: optionalName('only adverts of this partner account') },
    options: {
      to: text('QUEUE|BUS', 'URL or ARN of an SQS queue, or ARN of an event bus (required for a stack)'),
      webhook: option('URL', 'the webhook of a subscriber (with --local)', v.optional(webhookUrl)),
      webhookFile: text('FILE', 'the same, with the URL in FILE: for a URL that contains a secret'),
    },
  },
  async ({ io, target, args: { name }, options, json, report }) => {
    const { to } = options;
    const webhook = await webhookFrom(io, { url: options.webhook, file: options.webhookFile });
    const signal = io.untilStopped();
    const sent = await withProgress(io, (show) => {
      const details = { name, signal, onSent: (now: number) => show(progressText(now)) };
      if (target.kind === 'stack') return fromStack(target, to, webhook, details);
      if (to !== undefined) {
        throw new UsageError(
          '--to is for a stack: an embedded bridge writes to standard output, or to --webhook',
        );
      }
      if (json && webhook === undefined) {
        throw new UsageError('--json goes with --webhook: the events themselves go to standard output');
      }
      return fromLocal(io, target, webhook, details);
    });
    const finished = !signal.aborted;
    report(
      { sent, finished, ...(to === undefined ? { webhook: webhook && shownUrl(webhook) } : { to }) },
      ...sentLines(target, { sent, finished, to, webhook }),
    );
    return finished ? exitCodes.done : exitCodes.needsPerson;
  },
);

async function fromStack(
  target: StackTarget,
  to: string | undefined,
  webhook: string | undefined,
  details: SnapshotOptions,
): Promise<number> {
  if (webhook !== undefined) {
    throw new UsageError('--webhook is for --local DIR: a stack sends to a queue or a bus (--to)');
  }
  const { checkedTarget, openTarget } = await import('../../operations/snapshot-target.ts');
  const destination = checkedTarget(to);
  return withStack(target, async (bridge) => {
    const { send, close } = await openTarget(destination, bridge.outputs);
    return snapshot(bridge, send, details).finally(close);
  });
}

async function fromLocal(
  io: Io,
  target: LocalTarget,
  webhook: string | undefined,
  details: SnapshotOptions,
): Promise<number> {
  return withLocal(target, async (bridge) => {
    if (webhook === undefined) {
      const readerGone = new AbortController();
      io.stdout.once('error', () => readerGone.abort());
      const signal = AbortSignal.any([details.signal, readerGone.signal]);
      const send = async (events: readonly string[]) => {
        await stream(io, linesOf(events), signal);
        return 0;
      };
      return snapshot(bridge, send, { ...details, signal });
    }
    const { webhooks, eventLog } = bridge.state;
    secretsOf(webhooks, [webhook], target);
    await eventLog.begin(webhook);
    return snapshotToWebhook(bridge.state, webhook, details);
  });
}

const progressText = (sent: number): string => `${count(sent)} events sent`;

interface Sent {
  readonly sent: number;
  readonly finished: boolean;
  readonly to: string | undefined;
  readonly webhook: string | undefined;
}

function sentLines(target: Target, { sent, finished, to, webhook }: Sent): string[] {
  if (!finished)
    return [`Stopped after ${count(sent)} events. Run the command again: the events are the same.`];
  if (webhook === undefined) return [`${count(sent)} events sent${to === undefined ? '' : ` to ${to}`}.`];
  const shown = shownUrl(webhook);
  return [
    `${count(sent)} events wait for ${shown}.`,
    `A run that names it sends them: ${webhookCommand(target, webhook, (url) => `run --webhook ${url}`)}`,
  ];
}
