import type { EventPublisher } from '../../shared/ports/event-publisher.ts';

/** An event that the bus did not take. */
class RefusedEventError extends Error {
  override readonly name = 'RefusedEventError';
  readonly code = 'event-refused';
}

/** A bus that keeps what it accepted, in order, and refuses when it is told to. */
export function createInMemoryEvents() {
  const accepted: string[] = [];
  let refuses: (envelope: string) => boolean = () => false;

  const publisher: EventPublisher = {
    async publish(envelope) {
      if (refuses(envelope)) throw new RefusedEventError('the bus refused the event');
      accepted.push(envelope);
    },
  };
  return {
    ...publisher,
    /** The envelopes accepted, oldest first, repeated ones included. */
    accepted: accepted as readonly string[],
    /** From now on refuses what `which` says; everything, if it is left out. */
    refuse(which: (envelope: string) => boolean = () => true): void {
      refuses = which;
    },
    /** From now on accepts everything again. */
    accept(): void {
      refuses = () => false;
    },
  };
}
