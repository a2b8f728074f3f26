import { createHash } from 'node:crypto';
import { systemClock } from '../../domain/clock.ts';
import { messageGroupOf } from '../../domain/queue/message-groups.ts';
import type { Table } from '../dynamodb/conditional-write.ts';
import { type Edges, type Queue, sendBatches } from '../sqs/send-batches.ts';
import { createParking, type Parking } from './parking.ts';
import { createParkingLot } from './parking-lot.ts';

export interface ParkedMessagesOptions extends Edges {
  readonly table: Table;
  readonly queue: Queue;
}

/** Messages that wait outside the queue, in the feed-state table: fan-out parks them, drain releases them. */
export function createParkedMessages({ table, queue, ...edges }: ParkedMessagesOptions): Parking {
  return createParking({
    lot: createParkingLot(table),
    send: (parked) =>
      sendBatches(
        queue,
        parked.map(({ place, message }) => ({
          key: place,
          body: JSON.stringify(message),
          groupId: messageGroupOf(message),
          // Not the message's key, which the queue may have accepted minutes ago. The place is the same when a release
          // that was broken off is repeated, and another when the message is parked again.
          deduplicationId: createHash('sha256').update(`parked ${place}`).digest('hex'),
        })),
        edges,
      ),
    clock: edges.clock ?? systemClock,
  });
}
