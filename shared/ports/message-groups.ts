import type { ChangedAdvert } from '../contract/messages.ts';
import { objectKeyOf } from '../domain/advert-event.ts';

/** Orders the deliveries of a queue: a later message, or a later delivery of the same message, is greater. */
export type Position = string;

/** @param sequenceNumber decimal digits; rises within a message group */
export function deliveryPosition(sequenceNumber: string, receiveCount: number): Position {
  // SQS numbers have 20 digits; padding keeps the shorter numbers of emulators in order when compared as text.
  return `${sequenceNumber.padStart(20, '0')}:${String(receiveCount).padStart(6, '0')}`;
}

/** Group ID of a message in every queue: messages of one advert, or other object, are delivered in order. */
export const messageGroupOf = (
  message: Pick<ChangedAdvert, 'partnerAccount' | 'feed' | 'advertId'>,
): string => `${message.partnerAccount}/${objectKeyOf(message)}`;
