import { createAdvertHistories } from '../../../shared/aws/advert-histories.ts';
import { createAudits } from '../../../shared/aws/audits.ts';
import { createParkingLot } from '../../../shared/aws/parking/parking-lot.ts';
import { createPublishedAdverts } from '../../../shared/aws/published-adverts.ts';
import type { Auditing } from '../ports/auditing.ts';
import type { StackBridge } from './bridge.ts';
import { stackCatchUp } from './catch-up.ts';

/** Auditing a stack, with the role for people who catch up. */
export async function stackAuditing(bridge: StackBridge): Promise<Auditing> {
  const { feedStateTable, advertStatusTable } = bridge;
  const catchUp = await stackCatchUp(bridge);
  const { markedAt } = createParkingLot(feedStateTable);
  return {
    ...catchUp,
    audits: createAudits(feedStateTable),
    histories: createAdvertHistories(advertStatusTable),
    publishedAdverts: createPublishedAdverts(advertStatusTable),
    // SQS does not tell whose messages wait. Parked ones first: what is released after that is in the queue.
    isSettled: async (partnerAccount) =>
      (await markedAt(partnerAccount)) === undefined &&
      (await catchUp.poll.queue.depth(partnerAccount)) === 0,
  };
}
