/** Publishes events: on EventBridge, on standard output, to a webhook. */
export interface EventPublisher {
  /** Resolves when the event, the JSON of its envelope, is accepted. @throws if it was refused or the result is unknown */
  publish(envelope: string): Promise<void>;
}

/**
 * Publishes on several buses at the same time. An event is accepted when each bus has accepted it; if one has not, it is
 * published again on all of them, with the same ID and content.
 */
export function onEach(publishers: readonly EventPublisher[]): EventPublisher {
  return {
    async publish(envelope) {
      // Rule: order-of-bus
      const results = await Promise.allSettled(publishers.map((publisher) => publisher.publish(envelope)));
      // Rule: every-bus
      const refused = results.find((result) => result.status === 'rejected');
      if (refused) throw refused.reason;
    },
  };
}
