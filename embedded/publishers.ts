import type { Writable } from 'node:stream';
import { linesOf } from '../shared/domain/text/printable.ts';
import type { EventPublisher } from '../shared/ports/event-publisher.ts';
import type { Outbox } from '../shared/sqlite/outbox.ts';
import type { RecentEvents } from '../shared/sqlite/recent-events.ts';

const outputClosed = (cause: unknown): Error => new Error('standard output is closed', { cause });

/**
 * Publishes to a stream, one event per line. An event is accepted when the stream has accepted its line; lines of one
 * turn of the event loop are combined into one write.
 *
 * @param onClosed called once when the reader has closed the stream
 */
export function createLinePublisher(output: Writable, onClosed: () => void): EventPublisher {
  let lines: string[] = [];
  let flushed: Promise<void> | undefined;
  let closed: Error | undefined;

  output.on('error', (cause) => {
    closed ??= outputClosed(cause);
    onClosed();
  });

  const write = (text: string) =>
    new Promise<void>((resolve, reject) => {
      output.write(text, (cause) => {
        if (cause) reject(closed ?? outputClosed(cause));
        else resolve();
      });
    });

  return {
    async publish(envelope) {
      if (closed) throw closed;
      lines.push(envelope);
      flushed ??= Promise.resolve().then(() => {
        const text = linesOf(lines);
        lines = [];
        flushed = undefined;
        return write(text);
      });
      return flushed;
    },
  };
}

/**
 * Publishes by storing each event in the outbox for every webhook. webhooks/delivery.ts sends it from there, so that
 * an unavailable subscriber delays no other.
 */
export function createOutboxPublisher(
  outbox: Pick<Outbox, 'add'>,
  webhooks: readonly { readonly url: string; wake(): void }[],
): EventPublisher {
  const urls = webhooks.map(({ url }) => url);
  return {
    async publish(envelope) {
      await outbox.add(urls, envelope);
      for (const webhook of webhooks) webhook.wake();
    },
  };
}

/**
 * Records the accepted events for `tail`. Nobody waits for these records, and a failed one does not cause another
 * publish: they are committed together with the next transaction.
 */
export const createNotingPublisher = (
  events: EventPublisher,
  recentEvents: Pick<RecentEvents, 'add'>,
): EventPublisher => ({
  async publish(envelope) {
    await events.publish(envelope);
    recentEvents.add(envelope).catch(() => undefined);
  },
});

/** Publishes to each publisher in turn; an event that one rejects is not passed to the following ones. */
export const publishWithAll = (publishers: readonly EventPublisher[]): EventPublisher => ({
  async publish(envelope) {
    for (const publisher of publishers) await publisher.publish(envelope);
  },
});
