/**
 * Publishes on an event bus, of either kind. Events that are published in the same turn of the event loop, or during a
 * running call, share the next call. Each entry of the answer is checked, and only failed entries are sent again.
 */
import {
  type EventBridgeClient,
  PutEventsCommand,
  type PutEventsRequestEntry,
} from '@aws-sdk/client-eventbridge';
import { type Clock, systemClock } from '../domain/clock.ts';
import { backoffMs } from '../domain/concurrency.ts';
import type { EventPublisher } from '../ports/event-publisher.ts';

/** A kind of bus: how it is called. */
export interface EventBus<Entry> {
  readonly entriesAtOnce: number;
  entryOf(envelope: string): Entry;
  /** @returns what became of each entry, in order. The SDK has already repeated a call that is rejected. */
  put(
    entries: readonly Entry[],
  ): Promise<readonly { readonly EventId?: string; readonly ErrorCode?: string }[]>;
}

const maxAttempts = 5;
const backoff = { baseMs: 50, capMs: 1_000, random: () => Math.random() };

interface Waiting<Entry> {
  readonly entry: Entry;
  /** At most one event of each subject is in a call, because the events of one call may arrive in any order. */
  readonly subject: string;
  /** Takes the entry's error code; undefined if it was accepted. */
  readonly resolve: (refused: string | undefined) => void;
  readonly reject: (error: Error) => void;
}

export class RefusedEventError extends Error {
  override readonly name = 'RefusedEventError';
  /** The error code of the entry, or the name of the fault of the call. */
  readonly code: string;

  constructor(code: string, options?: ErrorOptions) {
    super(`the event bus did not accept the event: ${code}`, options);
    this.code = code;
  }
}

export function createEventPublisher<Entry>(
  bus: EventBus<Entry>,
  clock: Clock = systemClock,
): EventPublisher {
  const waiting: Waiting<Entry>[] = [];
  let calling = false;

  async function pump(): Promise<void> {
    if (calling) return;
    calling = true;
    while (waiting.length > 0) await call(takeEntries(waiting, bus.entriesAtOnce));
    calling = false;
  }

  async function call(batch: readonly Waiting<Entry>[]): Promise<void> {
    try {
      const results = await bus.put(batch.map(({ entry }) => entry));
      for (const [index, { resolve }] of batch.entries()) {
        const { EventId, ErrorCode } = results[index] ?? {};
        resolve(ErrorCode ?? (EventId ? undefined : 'no answer for the entry'));
      }
    } catch (error) {
      // The SDK has already retried; it is not known whether the events were accepted.
      const code = error instanceof Error ? error.name : 'unknown';
      for (const { reject } of batch) reject(new RefusedEventError(code, { cause: error }));
    }
  }

  return {
    async publish(envelope) {
      const entry = bus.entryOf(envelope);
      const subject = resourcesOf(envelope);
      // Each waits independently of the others, so that a failing event does not delay them.
      for (let attempt = 1; ; attempt += 1) {
        const refused = await new Promise<string | undefined>((resolve, reject) => {
          waiting.push({ entry, subject, resolve, reject });
          setImmediate(pump);
        });
        if (refused === undefined) return;
        if (attempt === maxAttempts) throw new RefusedEventError(refused);
        await clock.sleep(backoffMs(attempt, backoff));
      }
    },
  };
}

const resourcesOf = (envelope: string): string => `${JSON.parse(envelope).resources}`;

/** Removes the events for one call from the list, in order, each subject once. */
function takeEntries<Entry>(waiting: Waiting<Entry>[], most: number): Waiting<Entry>[] {
  const batch = new Map<string, Waiting<Entry>>();
  for (const event of waiting) {
    if (batch.size === most) break;
    if (!batch.has(event.subject)) batch.set(event.subject, event);
  }
  for (const event of batch.values()) waiting.splice(waiting.indexOf(event), 1);
  return [...batch.values()];
}

/** The classic bus. @see https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_PutEvents.html */
export const classicEventBus = (
  client: EventBridgeClient,
  busName: string,
): EventBus<PutEventsRequestEntry> => ({
  // The limit of a call. It also accepts 256 KB, and no event is larger than a tenth of that.
  entriesAtOnce: 10,
  entryOf(envelope) {
    const { source, 'detail-type': detailType, time, resources, detail } = JSON.parse(envelope);
    return {
      EventBusName: busName,
      Source: source,
      DetailType: detailType,
      Time: new Date(time),
      Resources: resources,
      Detail: JSON.stringify(detail),
    };
  },
  async put(entries) {
    const { Entries = [] } = await client.send(new PutEventsCommand({ Entries: [...entries] }));
    return Entries;
  },
});
