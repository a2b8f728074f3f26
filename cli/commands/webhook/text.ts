import { shownUrl } from '../../../shared/domain/text/shown-url.ts';
import type { Target } from '../../shared/target.ts';
import { webhookCommand } from '../../shared/webhook-command.ts';
import { count } from '../../shared/wording.ts';

export const more = `Every event is signed by Standard Webhooks (https://www.standardwebhooks.com): headers webhook-id (the eventId),
webhook-timestamp and webhook-signature. The secret is whsec_ and 24 to 64 random bytes in Base64; the subscriber needs the
same. A new secret replaces the one before, and signs the events that wait, too. A running bridge takes it at once.

To change a secret without a refused event: store the new one with --keep-old (events are then signed with both), give it to the
subscriber, and end with --drop-old.

Examples:
  openssl rand -base64 32 > webhook-secret.txt
  advert-bridge webhook https://example.org/adverts --local .advert-bridge --secret-file webhook-secret.txt
  advert-bridge run --local .advert-bridge --webhook https://example.org/adverts
  advert-bridge webhook https://example.org/adverts --local .advert-bridge --format cloudevents
  advert-bridge webhook --local .advert-bridge                      (shows what waits for each)
  advert-bridge webhook https://example.org/adverts --local .advert-bridge --forget`;

export const storedLines = (target: Target, url: string): string[] => [
  `Stored the secret of ${shownUrl(url)}.`,
  `Next: ${webhookCommand(target, url, (shown) => `run --webhook ${shown}`)}`,
];

export const changedText = (
  url: string,
  { dropOld, format }: { dropOld: boolean; format?: string | undefined },
): string =>
  [
    ...(dropOld ? [`Events to ${shownUrl(url)} are signed with the newest secret only.`] : []),
    ...(format ? [`Events to ${shownUrl(url)} are sent in the format ${format}.`] : []),
  ].join(' ');

export const forgottenText = (url: string, events: number): string =>
  `Forgot ${shownUrl(url)}, and ${count(events)} events that waited for it.`;

interface Waiting {
  readonly url: string;
  readonly waiting: number;
  readonly oldest: string | null;
  readonly givenUp: number;
  readonly format: string;
  readonly secrets: number;
}

export function allLines(webhooks: readonly Waiting[]): string[] {
  if (webhooks.length === 0) return ['No webhook is known.'];
  return webhooks.map(({ url, waiting, oldest, givenUp, format, secrets }) => {
    const since = oldest === null ? '' : ` (the oldest since ${oldest})`;
    return `${url}: ${count(waiting)} events wait${since}, ${count(givenUp)} were given up${format === 'event' ? '' : `, format ${format}`}${secrets > 1 ? ', signed with two secrets' : ''}`;
  });
}
