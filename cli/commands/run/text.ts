import { toInstant } from '../../../shared/domain/clock.ts';
import { shownUrl } from '../../../shared/domain/text/shown-url.ts';
import type { WebhookStatus } from '../../../shared/sqlite/webhooks.ts';
import { connectCommand } from '../../shared/explain.ts';
import { commandFor, type Target } from '../../shared/target.ts';
import { webhookCommand } from '../../shared/webhook-command.ts';
import { count } from '../../shared/wording.ts';

export const more = `Every event is one line of JSON on standard output. On SIGTERM or SIGINT the run finishes what it is working on and ends with
exit code 0. So it does when the reader of standard output goes away (\`| head -1\`); events that the reader did not take stay in
the event log of the folder and are written by the next run that writes to standard output. With --until-idle the exit code is 0, or 3 when something is dead-lettered, a
partner account is stopped, or a webhook does not take its events.

With --webhook events are appended to the event log first and then sent, signed by Standard Webhooks (\`advert-bridge webhook --help\`). The events of
one advert are sent in order, each again with backoff until it arrives. A webhook that is down holds up no other. Events that
wait when the run ends are kept, and sent by the next run with the same --webhook.

With --dry-run the events that would be published go to standard output, and to no webhook. The partner service is really asked,
within the rate limit, but nothing is stored apart from a token that had to be refreshed: the next run publishes all of it.

With --audit-sample that many published adverts of each partner account are fetched again a day; what differs is published, with a
warning on standard error (\`advert-bridge audit --help\`). A dry run has no audit.

Examples:
  advert-bridge run --local .advert-bridge --until-idle > events.ndjson
  advert-bridge run --local .advert-bridge --until-idle --dry-run
  advert-bridge run --local .advert-bridge --poll-seconds 5 --max-requests-per-second 50 --concurrency 20
  advert-bridge run --local .advert-bridge --webhook https://example.org/adverts --webhook https://example.com/hook --stdout`;

export const leftText = (target: Target): string =>
  `Manual action is needed: \`${commandFor(target, 'status')}\` says what.`;

export const dryRunText = 'Dry run: nothing of this is stored or sent.';

export const nobodyConnectedText = (target: Target): string =>
  `No partner account is connected. Connect one: \`${connectCommand(target, 'NAME')}\``;

/** The totals of the partner accounts' books and the queue. */
export interface Totals {
  readonly events: number;
  /** Changes that needed no event. */
  readonly others: number;
  readonly waiting: number;
  readonly deadLetters: number;
}

/** What a run has done so far. */
export function summaryText(before: Totals, now: Totals): string {
  // A difference is negative only if an account was forgotten in the meantime.
  const since = (term: 'events' | 'others') => count(Math.max(0, now[term] - before[term]));
  return (
    `${since('events')} events, ${since('others')} changes that needed none, ` +
    `${count(now.waiting)} waiting, ${count(now.deadLetters)} dead-lettered`
  );
}

export const noSecretText = (target: Target, url: string): string =>
  `no secret is stored for webhook ${shownUrl(url)}, and every event is signed. Make a secret, store it, and give it to the ` +
  `subscriber: ${webhookCommand(target, url, (shown) => `webhook ${shown} --secret-stdin`)}`;

export function undeliveredText(
  { url, waiting, oldest = 0, trouble }: WebhookStatus,
  retentionHours: number,
): string {
  const because = trouble ? ` (${trouble.reason})` : '';
  return (
    `${count(waiting)} events wait for webhook ${shownUrl(url)}${because}, the oldest since ${toInstant(oldest)}: kept for ` +
    `${count(retentionHours)} hours, and sent by the next run with this webhook.`
  );
}
