import * as v from 'valibot';
import { UsageError } from '../../operations/errors.ts';
import { recordedPages, type SendPages, snapshot } from '../../operations/snapshot.ts';
import { linesOf, shownUrl } from '../../shared/domain/text.ts';
import { withBridge } from '../bridge/open.ts';
import type { FolderBridge } from '../bridge/open-folder.ts';
import { requireSecrets, webhookCommand, webhookFrom, webhookUrl } from '../run/webhooks.ts';
import { defineCommand } from '../shared/command.ts';
import { exitCodes, stream } from '../shared/io.ts';
import { option, optionalName, text } from '../shared/options.ts';
import { withProgress } from '../shared/progress.ts';
import type { LocalTarget } from '../shared/target.ts';
import { count } from '../shared/wording.ts';

export const addSnapshot = defineCommand(
  {
    summary: "send every advert's latest event to one subscriber",
    description: "Sends every advert's latest event, as it was recorded, to one subscriber and no other.",
    more: `For a subscriber that is new or has lost its data: subscribe first, then take the
snapshot; it may be repeated. The partner service is not asked. With --local,
events go to standard output, or are stored for a webhook that \`run --webhook\`
serves.

Examples:
  advert-bridge snapshot --to https://sqs.eu-central-1.amazonaws.com/111122223333/search
  advert-bridge snapshot main --to arn:aws:events:eu-central-1:444455556666:event-bus/search
  advert-bridge snapshot --local .advert-bridge > adverts.ndjson`,
    options: {
      name: optionalName('only adverts of this partner account'),
      to: text('QUEUE|BUS', 'URL or ARN of an SQS queue, or ARN of an event bus (required for a stack)'),
      webhook: option('URL', 'the webhook of a subscriber (with --local)', v.optional(webhookUrl)),
      webhookFile: text('FILE', 'the same, with the URL in FILE: for a URL that contains a secret'),
    },
  },
  async ({ io, target, options, json, report }) => {
    const { name, to } = options;
    const webhook = await webhookFrom(io, { url: options.webhook, file: options.webhookFile });
    const isLocal = target.kind === 'local';
    if (!isLocal && webhook !== undefined)
      throw new UsageError('--webhook is for --local DIR: a stack sends to a queue or a bus (--to)');
    if (isLocal && to !== undefined)
      throw new UsageError(
        '--to is for a stack: an embedded bridge writes to standard output, or to --webhook',
      );
    if (isLocal && webhook === undefined && json)
      throw new UsageError('--json goes with --webhook: the events themselves go to standard output');
    const readerGone = new AbortController();
    const stopped = io.untilStopped();
    const signal = AbortSignal.any([stopped, readerGone.signal]);
    const sent = await withProgress(io, (show) => {
      const details = { name, signal, onSent: (now: number) => show(`${count(now)} events sent`) };
      if (!isLocal) {
        return withBridge(target, async (bridge) => {
          const { openTarget } = await import('../../operations/snapshot-target.ts');
          return snapshot(bridge, recordedPages(bridge, await openTarget(to ?? '', bridge.outputs)), details);
        });
      }
      return withBridge(target, async (bridge) => {
        if (webhook !== undefined)
          return snapshot(bridge, await webhookPages(bridge, webhook, target), details);
        io.stdout.once('error', () => readerGone.abort());
        const write = async (events: readonly string[]) => {
          await stream(io, linesOf(events), signal);
          return 0;
        };
        return snapshot(bridge, recordedPages(bridge, write), details);
      });
    });
    const finished = !stopped.aborted;
    const done =
      webhook === undefined
        ? [`${count(sent)} events sent${to === undefined ? '' : ` to ${to}`}.`]
        : [
            `${count(sent)} events wait for ${shownUrl(webhook)}.`,
            `A run that names it sends them: ${webhookCommand(target, webhook, (url) => `run --webhook ${url}`)}`,
          ];
    report(
      { sent, finished, ...(to === undefined ? { webhook: webhook && shownUrl(webhook) } : { to }) },
      ...(finished
        ? done
        : [`Stopped after ${count(sent)} events. Run the command again: the events are the same.`]),
    );
    return finished ? exitCodes.done : exitCodes.needsPerson;
  },
);

/** The events are stored for the webhook; a run sends them. */
async function webhookPages(
  { state: { eventLog, webhooks } }: FolderBridge,
  webhook: string,
  target: LocalTarget,
): Promise<SendPages> {
  requireSecrets(webhooks, [webhook], target);
  await eventLog.begin(webhook);
  return async function* ({ partnerAccount, generation }) {
    for (let after: string | undefined; ; ) {
      const page = await eventLog.appendLatest(webhook, `${partnerAccount}/${generation}`, after);
      if (!page) return;
      after = page.after;
      yield { events: page.added };
    }
  };
}
