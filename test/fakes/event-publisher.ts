import type { EventPublisher } from '../../shared/ports/event-publisher.ts';

/** A bus that stores accepted events in order, and rejects events on request. */
export function createInMemoryEvents() {
  const accepted: string[] = [];
  let refuses: (envelope: string) => boolean = () => false;

  const publisher: EventPublisher = {
    async publish(envelope) {
      if (refuses(envelope))
        throw Object.assign(new Error('the bus refused the event'), { code: 'event-refused' });
      accepted.push(envelope);
    },
  };
  return {
    ...publisher,
    /** The accepted envelopes, oldest first, including repeated ones. */
    accepted: accepted as readonly string[],
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
