import { createHash } from 'node:crypto';
import { systemClock, toInstant } from '../domain/clock.ts';
import { messageGroupOf } from '../domain/queue/message-groups.ts';
import type { Observer } from '../ports/observer.ts';
import type { Edges } from './batches/batches.ts';
import { sendDeadLetters } from './dead-letters.ts';
import type { Table } from './dynamodb/conditional-write.ts';
import { createParking, type Parking } from './parking/parking.ts';
import { createParkingLot } from './parking/parking-lot.ts';
import { type Queue, sendBatches } from './sqs/send-batches.ts';

export interface ParkedMessagesOptions extends Edges {
  readonly table: Table;
  readonly queue: Queue;
  readonly deadLetterQueue: Queue;
  readonly observer: Observer;
}

/** Parked messages in the feed-state table: fan-out parks them, the drain releases them. */
export function createParkedMessages(options: ParkedMessagesOptions): Parking {
  const { table, queue, deadLetterQueue, observer, ...edges } = options;
  const { clock = systemClock } = edges;
  return createParking({
    lot: createParkingLot(table),
    clock,
    send: (parked) =>
      sendBatches(
        queue,
        parked.map(({ place, message }) => ({
          key: place,
          body: JSON.stringify(message),
          groupId: messageGroupOf(message),
          // Deduplicated by the place, not by the message's key, which the queue may have accepted minutes ago. When an
          // interrupted release is repeated, the place is the same; when the message is parked again, it is a different
          // one.
          deduplicationId: createHash('sha256').update(`parked ${place}`).digest('hex'),
        })),
        edges,
      ),
    // The row was edited manually, or written by another version of the bridge. It must not block the account's other
    // messages.
    deadLetter(partnerAccount, rows) {
      for (const { place, flaw } of rows) {
        observer.warn('a parked message cannot be read: it becomes a dead letter', {
          partnerAccount,
          place,
          reason: flaw,
        });
      }
      const letters = rows.map(({ place, flaw, about }) => ({
        id: place,
        letter: {
          ...{ partnerAccount, advertId: about.advertId, fault: 'malformed-message', message: null },
          reason: `parked message ${place}: ${flaw}`,
          at: toInstant(clock.now()),
          receives: 1,
        },
      }));
      return sendDeadLetters(deadLetterQueue, letters, edges);
    },
  });
}
