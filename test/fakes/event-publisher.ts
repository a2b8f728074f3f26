import type { EventPublisher } from '../../shared/ports/event-publisher.ts';

const deduplicatedForMs = 300_000;

/**
 * A bus that stores accepted events in order, and rejects events on request.
 *
 * @param now of a Custom Event Bus, which drops an event that it accepted with the same ID in the last five minutes
 */
export function createInMemoryEvents(now?: () => number) {
  const accepted: string[] = [];
  const succeeded = new Set<string>();
  const acceptedAt = new Map<string, number>();
  let refuses: (envelope: string) => boolean = () => false;

  const publisher: EventPublisher = {
    async publish(envelope) {
      if (refuses(envelope))
        throw Object.assign(new Error('the bus refused the event'), { code: 'event-refused' });
      succeeded.add(envelope);
      if (now) {
        const { eventId } = JSON.parse(envelope).detail.metadata;
        if (now() - (acceptedAt.get(eventId) ?? -deduplicatedForMs) < deduplicatedForMs) return;
        acceptedAt.set(eventId, now());
      }
      accepted.push(envelope);
    },
  };
  return {
    ...publisher,
    /** The accepted envelopes, oldest first, including repeated ones that were not dropped. */
    accepted: accepted as readonly string[],
    /** Whether a publish of the event has succeeded. */
    has: (envelope: string): boolean => succeeded.has(envelope),
    /** From now on rejects the events for which `which` returns true; by default all events. */
    refuse(which: (envelope: string) => boolean = () => true): void {
      refuses = which;
    },
    /** From now on accepts everything again. */
    accept(): void {
      refuses = () => false;
    },
  };
}
