import type { AdvertEvent } from '../../shared/contract/events.ts';
import { isPublished, type PublishedEvents } from '../../shared/domain/published-events.ts';
import type { EventPublisher } from '../../shared/ports/event-publisher.ts';

/** Passes on the events that are published at all. The histories have the others too, so their numbers go on. */
export function onlyPublished(events: EventPublisher, which: PublishedEvents): EventPublisher {
  if (!which.publishStatuses && !which.publishPartnerAccounts) return events;
  return {
    async publish(envelope) {
      if (isPublished(JSON.parse(envelope) as AdvertEvent, which)) await events.publish(envelope);
    },
  };
}
