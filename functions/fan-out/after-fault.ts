import { metrics } from '../../shared/contract/names.ts';
import type { PartnerError } from '../../shared/domain/faults.ts';
import { objectKeyOf } from '../../shared/domain/history-key.ts';
import type { AdvertRow } from '../../shared/ports/advert-histories.ts';
import type { Settlement } from '../../shared/ports/deliveries.ts';
import { type AdvertDeps, firstRow, type Group, keyOf } from './advert.ts';
import { deadLetterOf } from './dead-letter.ts';
import { deadLetterOldest } from './leave-queue.ts';
import { delayAfter, isGivenUp, retryPolicyOf, sendBack } from './redelivery.ts';

/**
 * Decides what happens to an advert's messages after a fault: all go back to the queue with a delay, or the oldest
 * becomes a dead letter and the others go back. Never rejects.
 */
export async function afterFault(deps: AdvertDeps, group: Group, fault: PartnerError): Promise<Settlement[]> {
  const { histories, observer, clock, random, settings } = deps;
  const head = group[0];
  const { partnerAccount, correlationId } = head.message;
  const advertId = objectKeyOf(head.message);
  const { countsTries } = retryPolicyOf(fault);
  // If the row cannot be read, this counts as the first try; the only effect is one more try.
  const row = countsTries ? await histories.read(keyOf(head.message)).catch(() => undefined) : undefined;
  const attempts = { tries: (row?.tries ?? 0) + 1, receives: head.receives };
  const delayMs = delayAfter(fault, attempts, { ...settings, random });
  const reported = { fault: fault.code, reason: fault.message };
  const fields = { partnerAccount, advertId, correlationId, ...reported, error: fault.cause };
  if (isGivenUp(fault, attempts, clock.now() - head.sentAt, settings)) {
    const letter = deadLetterOf(head, reported, clock.now());
    const settlements = await deadLetterOldest(deps, group, letter, delayMs);
    if (settlements[0]?.verdict.kind === 'dead-letter') observer.error('message dead-lettered', fields);
    return settlements;
  }
  observer.warn('advert not settled: it is tried again', fields);
  if (fault.policy.needsAttention) observer.count(metrics.needsAttention, 1);
  if (countsTries) await countTry(deps, group, row ?? firstRow, attempts.tries).catch(() => undefined);
  return sendBack(group, delayMs, random);
}

/**
 * Counts the try in the row. After a conflict the count stays unchanged. All other fields keep their values: an owed
 * event is still owed.
 */
async function countTry(
  { histories }: AdvertDeps,
  [head]: Group,
  row: AdvertRow,
  tries: number,
): Promise<void> {
  if (row.position > head.position) return;
  await histories.write(keyOf(head.message), {
    ...row,
    tries,
    position: head.position,
    version: row.version + 1,
  });
}
