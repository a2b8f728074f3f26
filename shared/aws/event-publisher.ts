import {
  type EventBridgeClient,
  PutEventsCommand,
  type PutEventsRequestEntry,
} from '@aws-sdk/client-eventbridge';
import { type Clock, systemClock } from '../domain/clock.ts';
import { backoffMs } from '../domain/concurrency.ts';
import type { EventPublisher } from '../ports/event-publisher.ts';

export interface EventPublisherOptions {
  readonly client: EventBridgeClient;
  readonly busName: string;
  readonly clock?: Clock;
}

const maxAttempts = 5;
const backoff = { baseMs: 50, capMs: 1_000, random: () => Math.random() };

/** The bus did not accept the event, although the call succeeded. */
export class RefusedEventError extends Error {
  override readonly name = 'RefusedEventError';
  readonly code: string;

  constructor(code: string) {
    super(`the event bus did not accept the event: ${code}`);
    this.code = code;
  }
}

/**
 * Publishes on an event bus, each event in a call of its own, because EventBridge bills events and not calls. `publish`
 * throws the error of a call that failed after the SDK's retries.
 *
 * @see https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html
 */
export function createEventPublisher(options: EventPublisherOptions): EventPublisher {
  const { client, busName, clock = systemClock } = options;
  return {
    async publish(envelope) {
      const call = new PutEventsCommand({ Entries: [entryOf(envelope, busName)] });
      for (let attempt = 1; ; attempt += 1) {
        const [answer] = (await client.send(call)).Entries ?? [];
        if (answer?.EventId && !answer.ErrorCode) return;
        if (attempt === maxAttempts)
          throw new RefusedEventError(answer?.ErrorCode ?? 'no answer for the entry');
        await clock.sleep(backoffMs(attempt, backoff));
      }
    },
  };
}

function entryOf(envelope: string, busName: string): PutEventsRequestEntry {
  const { source, 'detail-type': detailType, time, resources, detail } = JSON.parse(envelope);
  return {
    EventBusName: busName,
    Source: source,
    DetailType: detailType,
    Time: new Date(time),
    Resources: resources,
    Detail: JSON.stringify(detail),
  };
}
