import { type MessageRead, messageIn } from '../../contract/messages.ts';
import { messageGroupOf, type Queued } from '../../domain/queue/message-groups.ts';
import { positionOf } from '../../domain/queue/position.ts';
import type { Delivery } from '../../ports/deliveries.ts';
import type { MessageRow } from './messages.ts';

/** A message of the queue, as held in memory. */
export interface QueuedRow extends Queued {
  readonly group: string;
  readonly partnerAccount: string;
  readonly generation: number;
  readonly sentAt: number;
  readonly read: MessageRead;
}

export function queuedOf(row: MessageRow): QueuedRow {
  const read = messageIn(row.body);
  return {
    // An invalid body gets its own group.
    group: 'message' in read ? messageGroupOf(read.message) : `#${row.sequence_number}`,
    partnerAccount: row.partner_account,
    generation: row.generation,
    sequenceNumber: row.sequence_number,
    sentAt: row.sent_at,
    receives: row.receives,
    read,
    ...(row.visible_at === null ? {} : { visibleAt: row.visible_at }),
  };
}

/** The receipt of the latest delivery of a message; receipts of earlier deliveries are invalid. */
export const receiptOf = ({ sequenceNumber, receives }: QueuedRow): string => `${sequenceNumber}:${receives}`;

export const deliveryOf = (queued: QueuedRow): Delivery => ({
  id: receiptOf(queued),
  ...queued.read,
  position: positionOf(String(queued.sequenceNumber), queued.receives),
  receives: queued.receives,
  sentAt: queued.sentAt,
});
