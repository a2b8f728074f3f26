/** Publishes events: on EventBridge, on standard output, to a webhook. */
export interface EventPublisher {
  /** Resolves when the event, the JSON of its envelope, is accepted. @throws if it was refused or the result is unknown */
  publish(envelope: string): Promise<void>;
}
