/** The webhooks of one run of the embedded bridge. */
import { createOutboxPublisher, publishWithAll } from '../../../embedded/publishers.ts';
import { startDelivery, type Webhook } from '../../../embedded/webhooks/delivery.ts';
import { CommandError } from '../../../operations/errors.ts';
import { type Clock, systemClock } from '../../../shared/domain/clock.ts';
import type { EventPublisher } from '../../../shared/ports/event-publisher.ts';
import type { Observer } from '../../../shared/ports/observer.ts';
import type { Outbox } from '../../../shared/sqlite/outbox.ts';
import type { Target } from '../../shared/target.ts';
import { noSecretText, undeliveredText } from './text.ts';

/**
 * Each webhook with its stored secret.
 *
 * @throws {CommandError} for a webhook without a secret: the bridge sends no event that the receiver cannot verify
 */
export function secretsOf(
  outbox: Pick<Outbox, 'signing'>,
  urls: readonly string[],
  target: Target,
): readonly Webhook[] {
  return urls.map((url) => {
    const signing = outbox.signing(url);
    if (signing) return { url, signing };
    throw new CommandError(noSecretText(target, url));
  });
}

export interface OutgoingOptions {
  readonly outbox: Outbox;
  readonly observer: Observer;
  readonly retentionHours: number;
  /** Standard output, if requested. */
  readonly lines: EventPublisher | undefined;
  readonly clock?: Clock;
}

/** Number of concurrent requests to one webhook, each with an event of another advert. */
const concurrency = 8;
const lookMs = 50;
/** If no event could be delivered for this long, `run --until-idle` leaves the rest to the next run. */
const patienceMs = 60_000;

/** Starts sending the waiting events of each webhook. The bridge publishes to `events`. */
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

    /** Resolves when no event waits for a webhook that still accepts events. */
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

    /** A line for each webhook that has not received all of its events, for the end of the run. */
    undelivered: (): string[] =>
      withCounts()
        .filter(({ waiting }) => waiting > 0)
        .map(({ delivery: { url, trouble }, waiting, oldest = 0 }) =>
          undeliveredText({ url, waiting, oldest, reason: trouble()?.reason }, retentionHours),
        ),

    /** Resolves when no event is being sent any more; may be called again. */
    stop: async (): Promise<void> => {
      await Promise.all(deliveries.map((delivery) => delivery.stop()));
    },
  };
}
