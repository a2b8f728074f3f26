/** Publishes events: on EventBridge, on standard output, to a webhook. */
export interface EventPublisher {
  /**
   * Resolves when the event is accepted. Repeated calls publish the same text, byte for byte.
   *
   * @param envelope JSON of the whole envelope
   * @throws when the event was refused, or when the result is not known
   */
  publish(envelope: string): Promise<void>;
}
