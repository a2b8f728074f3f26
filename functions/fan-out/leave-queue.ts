/**
 * Messages that leave the queue without being settled: dead letters, and what is parked. The row that stands for their
 * advert may hold an event that the bus has refused; so it is marked as owed first, and whoever comes next publishes it.
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
 * Dead-letters the oldest message. The others go back without a delay, however often they were received: each message that
 * leaves costs those behind it one receive, and with a delay for each, as many as wait would leave one every quarter of an
 * hour. Never rejects.
 *
 * @param retryMs how long all of them stay away when the row could not be marked
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
 * All of them wait outside the queue until they are released (functions/drain/release.ts). Never rejects.
 *
 * Messages received for the first time have nothing to be marked: no worker of an earlier delivery may still be at it, and
 * the row holds no event of theirs.
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
