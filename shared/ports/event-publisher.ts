/** Publishes events: on EventBridge, on standard output, to a webhook. */
export interface EventPublisher {
  /**
   * Resolves when the event is accepted. The same text is published byte for byte however often it is asked for.
   *
   * @param envelope JSON of the whole envelope
   * @throws when it was refused, or when that is not known
   */
  publish(envelope: string): Promise<void>;
}
