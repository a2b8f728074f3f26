/** The webhooks of one run of the embedded bridge. */

import { createOutboxPublisher, publishWithAll } from '../../../embedded/publishers.ts';
import { shownUrl, startDelivery, type Webhook } from '../../../embedded/webhooks/delivery.ts';
import { CommandError } from '../../../operations/errors.ts';
import { type Clock, systemClock, toInstant } from '../../../shared/domain/clock.ts';
import type { EventPublisher } from '../../../shared/ports/event-publisher.ts';
import type { Observer } from '../../../shared/ports/observer.ts';
import type { Outbox } from '../../../shared/sqlite/outbox.ts';
import { commandFor, type Target } from '../../shared/target.ts';
import { count } from '../../shared/wording.ts';

/**
 * Each webhook with its stored secret.
 *
 * @throws {CommandError} for one without: an event that nobody can check is not sent
 */
export function secretsOf(
  outbox: Pick<Outbox, 'secrets'>,
  urls: readonly string[],
  target: Target,
): readonly Webhook[] {
  return urls.map((url) => {
    const secret = outbox.secrets.read(url);
    if (secret) return { url, secret };
    throw new CommandError(
      `no secret is stored for webhook ${shownUrl(url)}, and every event is signed. Make one, store it, and give the ` +
        `same to the subscriber: \`${commandFor(target, `webhook ${shownUrl(url)} --secret-stdin`)}\``,
    );
  });
}

export interface OutgoingOptions {
  readonly outbox: Outbox;
  readonly observer: Observer;
  readonly retentionHours: number;
  /** Standard output, where it is wanted. */
  readonly lines: EventPublisher | undefined;
  readonly clock?: Clock;
}

/** Adverts whose events are on their way to one webhook at a time. */
const concurrency = 8;
const lookMs = 50;
/** When nothing has arrived for so long, a run until idle leaves the rest to the next one. */
const patienceMs = 60_000;

/** Starts sending what waits for each; `events` is where the bridge publishes. */
export function openWebhooks(
  webhooks: readonly Webhook[],
  { outbox, observer, retentionHours, lines, clock = systemClock }: OutgoingOptions,
) {
  const retentionMs = retentionHours * 3_600_000;
  const deliveries = webhooks.map((webhook) =>
    startDelivery(webhook, { outbox, clock, random: Math.random, observer, concurrency, retentionMs }),
  );
  const withCounts = () => deliveries.map((delivery) => ({ delivery, ...outbox.counts(delivery.url) }));
  const events = publishWithAll([
    ...(lines ? [lines] : []),
    ...(deliveries.length > 0 ? [createOutboxPublisher(outbox, deliveries)] : []),
  ]);

  return {
    events,

    /** Resolves when nothing waits for a webhook that still takes events. */
    async untilDelivered(signal: AbortSignal): Promise<void> {
      let least = Number.POSITIVE_INFINITY;
      for (let movedAt = clock.now(); !signal.aborted; await clock.sleep(lookMs, signal)) {
        const waiting = withCounts()
          .filter(({ delivery }) => !delivery.trouble()?.gone)
          .reduce((sum, counts) => sum + counts.waiting, 0);
        if (waiting < least) [least, movedAt] = [waiting, clock.now()];
        if (waiting === 0 || clock.now() - movedAt > patienceMs) return;
      }
    },

    /** A line for each webhook that has not got all of its events, for the end of the run. */
    undelivered: (): string[] =>
      withCounts()
        .filter(({ waiting }) => waiting > 0)
        .map(({ delivery, waiting, oldest = 0 }) => {
          const { reason } = delivery.trouble() ?? {};
          const because = reason === undefined ? '' : ` (${reason})`;
          const oldestIs = `the oldest since ${toInstant(oldest)}`;
          return (
            `${count(waiting)} events wait for webhook ${shownUrl(delivery.url)}${because}, ${oldestIs}: ` +
            `kept for ${count(retentionHours)} hours, and sent by the next run that has it.`
          );
        }),

    /** Ends when what is on its way has ended; may be called again. */
    stop: async (): Promise<void> => {
      await Promise.all(deliveries.map((delivery) => delivery.stop()));
    },
  };
}
