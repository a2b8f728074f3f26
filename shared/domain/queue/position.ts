/** Orders the deliveries of a queue: a later message, or a later delivery of the same message, is greater. */
export type Position = string;

/**
 * @param sequenceNumber the queue's number for the message, in decimal digits; it rises within a message group
 * @param receiveCount how often the message has been delivered, including this delivery
 */
export function positionOf(sequenceNumber: string, receiveCount: number): Position {
  // SQS numbers have 20 digits; padding keeps the shorter numbers of emulators in order when compared as text.
  return `${sequenceNumber.padStart(20, '0')}:${String(receiveCount).padStart(6, '0')}`;
}
