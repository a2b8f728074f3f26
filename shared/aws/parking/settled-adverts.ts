import type { Table } from '../dynamodb/conditional-write.ts';
import { createParkingLot } from './parking-lot.ts';

/**
 * Whether no message of a partner account waits. SQS does not show whose messages wait, so this is known only if the
 * whole queue is empty.
 *
 * @param queue the queue of changed adverts
 */
export function createSettledAdverts(
  feedState: Table,
  queue: { depth(partnerAccount: string): Promise<number> },
) {
  const { markedAt } = createParkingLot(feedState);
  // Check parked messages first: if they are released afterwards, the queue check sees them.
  return async (partnerAccount: string): Promise<boolean> =>
    (await markedAt(partnerAccount)) === undefined && (await queue.depth(partnerAccount)) === 0;
}
