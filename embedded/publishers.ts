import type { Writable } from 'node:stream';
import { linesOf } from '../shared/domain/text/printable-lines.ts';
import type { EventPublisher } from '../shared/ports/event-publisher.ts';
import type { Outbox } from '../shared/sqlite/outbox.ts';
import type { RecentEvents } from '../shared/sqlite/recent-events.ts';

const outputClosed = (cause: unknown): Error => new Error('standard output is closed', { cause });

/**
 * Publishes on a stream, one event a line. An event is accepted when the stream has taken its line; lines of one turn of the
 * event loop are one write.
 *
 * @param onClosed called once when the reader is gone
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
 * Publishes by storing each event in the outbox for every webhook. webhooks/delivery.ts sends it from there, so that a
 * subscriber that is down delays nobody else.
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
 * Notes for `tail` what `events` has accepted. Nobody waits for that, nor is anything published again for it: it is
 * committed together with what comes next.
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

/** Publishes with each in turn; an event that one refuses is not given to those after it. */
export const publishWithAll = (publishers: readonly EventPublisher[]): EventPublisher => ({
  async publish(envelope) {
    for (const publisher of publishers) await publisher.publish(envelope);
  },
});
