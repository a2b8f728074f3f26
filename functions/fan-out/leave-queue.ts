/**
 * Removes messages from the queue without settling them: as dead letters, or by parking them. The row of their advert
 * may contain an event that the bus has refused. So the row is marked as owed first, and the next worker that handles
 * the advert publishes that event.
 */
import type { DeadLetter } from '../../shared/contract/messages.ts';
import type { AdvertHistories } from '../../shared/ports/advert-histories.ts';
import type { Settlement } from '../../shared/ports/deliveries.ts';
import {
  type AdvertDeps,
  firstRow,
  type Group,
  keyOf,
  type MessageDelivery,
  maxConflicts,
  nextRow,
} from './advert.ts';
import { sendBack } from './redelivery.ts';

type LeaveDeps = Pick<AdvertDeps, 'histories' | 'random'>;

/**
 * Dead-letters the oldest message. The others go back without a delay, even if they were received often: each dead
 * letter costs the messages behind it one receive, and with a delay each time, only one of them would leave the queue
 * every 15 minutes. Never rejects.
 *
 * @param retryMs delay of all messages when the row could not be marked
 */
export async function deadLetterOldest(
  { histories, random }: LeaveDeps,
  group: Group,
  letter: DeadLetter,
  retryMs: number,
): Promise<Settlement[]> {
  const [head, ...others] = group;
  // Planted faults: owed-left-out, owed-only-on-redelivery, others-done-with-dead-letter
  const owed = await markOwed(histories, head).catch(() => false);
  if (!owed) return sendBack(group, retryMs, random);
  const atOnce = { kind: 'retry', delayMs: 0 } as const;
  return [
    { delivery: head, verdict: { kind: 'dead-letter', letter } },
    ...others.map((delivery) => ({ delivery, verdict: atOnce })),
  ];
}

const parkRetryMs = 5_000;

/**
 * Parks all messages of the group until the drain releases them (functions/drain/release.ts). Never rejects.
 *
 * Messages received for the first time need no mark: there is no earlier delivery on which a worker could still be
 * busy, and the row contains no event for these messages.
 */
export async function park({ histories, random }: LeaveDeps, group: Group): Promise<Settlement[]> {
  const isRedelivered = group.some(({ receives }) => receives > 1);
  // Planted faults: parked-without-owed, stopped-wait-in-queue
  const mayLeave = !isRedelivered || (await markOwed(histories, group[0]).catch(() => false));
  if (!mayLeave) return sendBack(group, parkRetryMs, random);
  return group.map((delivery) => ({ delivery, verdict: { kind: 'park' } }));
}

/** @returns whether the row is marked: only then may the message leave the queue */
async function markOwed(histories: AdvertHistories, head: MessageDelivery): Promise<boolean> {
  const key = keyOf(head.message);
  for (let conflicts = 0; conflicts < maxConflicts; conflicts += 1) {
    const row = (await histories.read(key)) ?? firstRow;
    // Planted faults: no-position-fence-when-owed, owed-without-version
    if (row.position > head.position) return false;
    if (await histories.write(key, nextRow(row, head.position, { owed: true }))) return true;
  }
  return false;
}
