import * as v from 'valibot';
import { shownUrl } from '../../../embedded/state/event-log.ts';
import { linesOf } from '../../../shared/domain/text.ts';
import { isDelivering } from '../../operations/bridge.ts';
import { UsageError } from '../../operations/errors.ts';
import { recordedPage, type SendPage, snapshot } from '../../operations/snapshot/snapshot.ts';
import { withBridge } from '../bridge/open.ts';
import type { FolderBridge } from '../bridge/open-folder.ts';
import { requireSecrets, webhookCommand, webhookFrom, webhookUrl } from '../run/webhooks.ts';
import { defineCommand } from '../shared/command.ts';
import { exitCodes, flushedBefore, stream, untilUnread } from '../shared/io.ts';
import { option, optionalName, text } from '../shared/options.ts';
import { withProgress } from '../shared/progress.ts';
import { count } from '../shared/wording.ts';

const toHelp = 'URL or ARN of an SQS queue, or ARN of an event bus (required for a stack)';
const webhookHelp = 'the webhook of a subscriber (with --local)';

export const addSnapshot = defineCommand(
  {
    help: `send every advert's latest event to one subscriber
As it was recorded, and to no other subscriber: for one that is new or has lost its data. It subscribes first,
then the snapshot is taken; it may be repeated. The partner service is not asked. With --local, events go to
standard output, or are stored for a webhook that \`run --webhook\` serves.

Examples:
  $0 snapshot --to https://sqs.eu-central-1.amazonaws.com/111122223333/search
  $0 snapshot --local .advert-bridge > adverts.ndjson`,
    options: {
      name: optionalName('only adverts of this partner account'),
      to: { ...text('QUEUE|BUS', toHelp), conflicts: ['local'] },
      webhook: { ...option('URL', webhookHelp, v.optional(webhookUrl)), localOnly: true },
      webhookFile: {
        ...text('FILE', 'the same, with the URL in FILE, which may be a secret'),
        localOnly: true,
      },
    },
  },
  async ({ io, target, options: { name, to, ...options }, json, report }) => {
    const url = await webhookFrom(io, { url: options.webhook, file: options.webhookFile });
    if (target.kind === 'local' && url === undefined && json)
      throw new UsageError('--json goes with --webhook: the events themselves go to standard output');
    const stopped = io.untilStopped();
    const unread = untilUnread(io);
    const signal = AbortSignal.any([stopped, unread]);
    const write = (events: readonly string[]) => stream(io, linesOf(events), signal).then(() => 0);
    let isRunning = false;
    const sent = await withProgress(io, (show) =>
      withBridge(target, async (bridge) => {
        isRunning = isDelivering(bridge);
        let sendPage: SendPage;
        if ('outputs' in bridge) {
          const { openTarget } = await import('../../operations/snapshot/snapshot-target.ts');
          sendPage = recordedPage(bridge, await openTarget(to ?? '', bridge.outputs));
        } else if (url === undefined) sendPage = recordedPage(bridge, write);
        else {
          requireSecrets(bridge.state.webhooks, [url], target);
          sendPage = await pageForWebhook(bridge.state, url);
        }
        const onSent = (now: number) => show(`${count(now)} events sent`);
        return snapshot(bridge, sendPage, { name, signal, onSent });
      }),
    );
    await flushedBefore(stopped, io);
    const finished = !signal.aborted;
    const webhook = url && shownUrl(url);
    let line = `${count(sent)} events sent${to === undefined ? '' : ` to ${to}`}.`;
    if (!finished)
      line = `Stopped after ${count(sent)} events. Run the command again: the events are the same.`;
    else if (url !== undefined) {
      const run = webhookCommand(target, 'run --webhook URL');
      line = isRunning
        ? `The run at work sends ${count(sent)} events to ${webhook}, if it was started with this webhook.`
        : `${count(sent)} events wait for ${webhook}. A run that names it sends them: ${run}`;
    }
    report({ sent, finished, ...(to === undefined ? { webhook } : { to }) }, line);
    if (unread.aborted) return exitCodes.fault;
    return finished ? exitCodes.done : exitCodes.needsPerson;
  },
);

/** The events are stored for the webhook; a run sends them. */
async function pageForWebhook({ eventLog }: FolderBridge['state'], webhook: string): Promise<SendPage> {
  await eventLog.begin(webhook);
  return async ({ partnerAccount, generation }, from) => {
    const page = await eventLog.appendLatest(webhook, `${partnerAccount}/${generation}`, from);
    return { events: page?.added ?? 0, next: page?.after };
  };
}
