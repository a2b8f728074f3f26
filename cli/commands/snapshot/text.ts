import { shownUrl } from '../../../shared/domain/text/shown-url.ts';
import type { Target } from '../../shared/target.ts';
import { webhookCommand } from '../../shared/webhook-command.ts';
import { count } from '../../shared/wording.ts';

export const more = `For a subscriber that is new, or has lost its data. Each event is sent as it was recorded, with its eventId, to this subscriber
and no other. The partner service is not asked for anything. A snapshot may be repeated: its events are the same. A
subscriber applies an event only when its (generation, sequence) is greater than the one it has, so live events may come
before, in between and after: subscribe first, then take the snapshot.

In a queue the events look as if EventBridge had put them there; on a bus they have the same source and detail type. With
--local they go to standard output, one a line; with --webhook they are stored for the webhook, and \`run --webhook\` sends them.

Examples:
  advert-bridge snapshot --to https://sqs.eu-central-1.amazonaws.com/111122223333/search-adverts
  advert-bridge snapshot main --to arn:aws:sqs:eu-central-1:111122223333:search-adverts
  advert-bridge snapshot --to arn:aws:events:eu-central-1:444455556666:event-bus/search
  advert-bridge snapshot --local .advert-bridge > adverts.ndjson
  advert-bridge snapshot --local .advert-bridge --webhook https://example.org/adverts`;

export const progressText = (sent: number): string => `${count(sent)} events sent`;

interface Sent {
  readonly sent: number;
  readonly finished: boolean;
  readonly to: string | undefined;
  readonly webhook: string | undefined;
}

export function sentLines(target: Target, { sent, finished, to, webhook }: Sent): string[] {
  if (!finished)
    return [`Stopped after ${count(sent)} events. Run the command again: the events are the same.`];
  if (webhook === undefined) return [`${count(sent)} events sent${to === undefined ? '' : ` to ${to}`}.`];
  const shown = shownUrl(webhook);
  return [
    `${count(sent)} events wait for ${shown}.`,
    `Next: ${webhookCommand(target, webhook, (url) => `run --webhook ${url}`)}`,
  ];
}
