import type { Delivery } from '../../functions/fan-out/ports.ts';
import { messageIn } from '../contract/messages.ts';
import { positionOf } from '../domain/position.ts';

export interface MessageRow {
  readonly sequence_number: number;
  readonly body: string;
  readonly receives: number;
  readonly sent_at: number;
}

/** The delivery that a row stands for. Its receipt holds until the message is delivered again. */
export function deliveryOf({ sequence_number, body, receives, sent_at }: MessageRow): Delivery {
  return {
    id: `${sequence_number}:${receives}`,
    ...messageIn(body),
    position: positionOf(String(sequence_number), receives),
    receives,
    sentAt: sent_at,
  };
}

export function deliveryNamed(id: string): { readonly sequenceNumber: number; readonly receives: number } {
  const [sequenceNumber = Number.NaN, receives = Number.NaN] = id.split(':').map(Number);
  return { sequenceNumber, receives };
}
