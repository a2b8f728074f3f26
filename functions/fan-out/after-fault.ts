import { metrics } from '../../shared/contract/names.ts';
import { objectKeyOf } from '../../shared/domain/advert-event.ts';
import type { PartnerError } from '../../shared/domain/faults.ts';
import type { Settlement } from '../../shared/ports/deliveries.ts';
import { type AdvertDeps, firstRow, type Group, keyOf } from './advert.ts';
import { deadLetterOf, deadLetterOldest } from './dead-letter.ts';
import { delayAfter, isGivenUp, retryPolicyOf, sendBack } from './redelivery.ts';

/**
 * Decides what happens to an advert's messages after a fault: all go back to the queue with a delay, or the oldest
 * becomes a dead letter and the others go back. Never rejects.
 */
export async function afterFault(deps: AdvertDeps, group: Group, fault: PartnerError): Promise<Settlement[]> {
  const { observer, clock, random, settings } = deps;
  const head = group[0];
  const { partnerAccount, correlationId } = head.message;
  const tries = await countTry(deps, group, fault).catch(() => undefined);
  const attempts = { tries: tries ?? 1, receives: head.receives };
  const reported = { fault: fault.code, reason: fault.message };
  const fields = {
    partnerAccount,
    advertId: objectKeyOf(head.message),
    correlationId,
    ...reported,
    error: fault.cause,
  };
  // If the row could not be written, the message comes back: after it, nothing would show that the advert was listed.
  if (tries !== undefined && isGivenUp(fault, attempts, clock.now() - head.sentAt, settings)) {
    observer.error('message dead-lettered', fields);
    return deadLetterOldest(group, deadLetterOf(head, reported, clock.now()));
  }
  observer.warn('advert not settled: it is tried again', fields);
  if (fault.policy.needsAttention) observer.count(metrics.needsAttention, 1);
  return sendBack(group, delayAfter(fault, attempts, { ...settings, random }), random);
}

/**
 * Counts the try in the row, which so shows that the advert was listed even before its first event. After a conflict the
 * count stays unchanged. A pending event stays pending. Transient faults of an advert with a history are not counted.
 *
 * @returns the number of tries, this one included
 */
async function countTry({ histories }: AdvertDeps, [head]: Group, fault: PartnerError): Promise<number> {
  const row = await histories.read(keyOf(head.message));
  const tries = (row?.tries ?? 0) + 1;
  if (row && !retryPolicyOf(fault).countsTries) return tries;
  await histories.write(keyOf(head.message), { ...(row ?? firstRow), tries });
  return tries;
}
