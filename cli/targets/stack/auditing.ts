import { createAdvertHistories } from '../../../shared/aws/advert-histories.ts';
import { createAudits } from '../../../shared/aws/audits.ts';
import { createSettledAdverts } from '../../../shared/aws/parking/settled-adverts.ts';
import { createPublishedAdverts } from '../../../shared/aws/published-adverts.ts';
import type { Auditing } from '../ports/auditing.ts';
import type { StackBridge } from './bridge.ts';
import { stackCatchUp } from './catch-up.ts';

/** Auditing a stack, with the role for people who catch up. */
export async function stackAuditing(bridge: StackBridge): Promise<Auditing> {
  const { feedStateTable, advertStatusTable } = bridge;
  const catchUp = await stackCatchUp(bridge);
  return {
    ...catchUp,
    audits: createAudits(feedStateTable),
    histories: createAdvertHistories(advertStatusTable),
    publishedAdverts: createPublishedAdverts(advertStatusTable),
    isSettled: createSettledAdverts(feedStateTable, catchUp.poll.queue),
  };
}
