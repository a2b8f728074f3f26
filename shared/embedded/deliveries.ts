import type { Delivery } from '../../functions/fan-out/ports.ts';
import { checkedJson, ShapeError } from '../contract/checks.ts';
import { type ChangedAdvert, changedAdvert } from '../contract/messages.ts';
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
    ...contentsOf(body),
    position: positionOf(String(sequence_number), receives),
    receives,
    sentAt: sent_at,
  };
}

export function deliveryNamed(id: string): { readonly sequenceNumber: number; readonly receives: number } {
  const [sequenceNumber = Number.NaN, receives = Number.NaN] = id.split(':').map(Number);
  return { sequenceNumber, receives };
}

// Another version of the bridge may have written it.
function contentsOf(body: string): { message: ChangedAdvert } | { flaw: string } {
  try {
    return { message: checkedJson(changedAdvert, body, 'message') };
  } catch (error) {
    if (error instanceof ShapeError) return { flaw: error.message };
    throw error;
  }
}
