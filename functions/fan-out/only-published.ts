import type { AdvertEvent } from '../../shared/contract/events.ts';
import { isPublished, type PublishedEvents } from '../../shared/domain/advert-event.ts';
import type { EventPublisher } from '../../shared/ports/event-publisher.ts';

/**
 * Publishes only the events that the settings allow. The histories contain the suppressed events too, so these also use
 * up sequence numbers.
 */
export function onlyPublished(events: EventPublisher, which: PublishedEvents): EventPublisher {
  if (!which.publishStatuses && !which.publishPartnerAccounts) return events;
  return {
    async publish(envelope) {
      if (isPublished(JSON.parse(envelope) as AdvertEvent, which)) await events.publish(envelope);
    },
  };
}
