/**
 * Where a delivery stands in the life of its queue: later in the queue, or the same message delivered again, is
 * greater. It distinguishes a worker whose visibility timeout ran out from the one that has the message now.
 */
export type Position = string;

/** Less than any delivery's position. */
export const beforeAll: Position = '';

/**
 * @param sequenceNumber the queue's number for the message, decimal digits, rising within a message group
 * @param receiveCount how often the message has been delivered, this time included
 */
export function positionOf(sequenceNumber: string, receiveCount: number): Position {
  // SQS's numbers have 20 digits; padding keeps shorter ones of emulators in order when compared as text.
  return `${sequenceNumber.padStart(20, '0')}:${String(receiveCount).padStart(6, '0')}`;
}

/** The receive count that {@link positionOf} was given; 0 of {@link beforeAll}. */
export const receiveCountOf = (position: Position): number => Number(position.split(':')[1] ?? 0);
