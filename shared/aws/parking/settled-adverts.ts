import type { Table } from '../dynamodb/conditional-write.ts';
import { createParkingLot } from './parking-lot.ts';

/**
 * Whether no message of a partner account waits: SQS does not tell whose messages wait, so an empty queue has to say it.
 *
 * @param queue of changed adverts
 */
export function createSettledAdverts(
  feedState: Table,
  queue: { depth(partnerAccount: string): Promise<number> },
) {
  const { markedAt } = createParkingLot(feedState);
  // Parked ones first: what is released after that is in the queue.
  return async (partnerAccount: string): Promise<boolean> =>
    (await markedAt(partnerAccount)) === undefined && (await queue.depth(partnerAccount)) === 0;
}
