/**
 * Decides how long a message waits after a fault and when it is given up, both by the kind of fault (`deadLettered` in
 * shared/domain/faults.ts). Other steps ask for their own delays.
 */
import type { DeadLetter } from '../../shared/contract/messages.ts';
import { metrics } from '../../shared/contract/names.ts';
import { objectKeyOf } from '../../shared/domain/advert-event.ts';
import { toInstant } from '../../shared/domain/clock.ts';
import { backoffMs } from '../../shared/domain/concurrency.ts';
import type { BridgeFault } from '../../shared/domain/faults.ts';
import type { Delivery, Settlement } from '../../shared/ports/queue.ts';
import { type AdvertDeps, firstRow, type Group } from './advert.ts';

/**
 * By `deadLettered`. `countsTries`: the tries, counted in the advert's row, decide about the delay, and not the message's
 * receives. Five tries take less than two minutes. `at-once`: retried only while the dead letter cannot be written.
 */
const byTries = { baseMs: 2_000, capMs: 16_000, countsTries: true };
const byAge = { baseMs: 1_000, capMs: 300_000, countsTries: false };
const retryPolicies = { 'at-once': byTries, 'by-tries': byTries, 'by-age': byAge, never: byAge };

const retryPolicyOf = ({ policy }: BridgeFault) => retryPolicies[policy.deadLettered];

/** The longest that SQS hides a message is twelve hours. */
const longestWaitMs = 6 * 3_600_000;
/** The service asked to wait in its answer about this advert. */
const isOwnWait = ({ code, status }: BridgeFault): boolean => code === 'transient' && status !== undefined;

/** Up to nine earlier messages of the same advert may be tried five times each, and this message goes back with each. */
const freeReceives = 40;
/** With these values, no message has more than 200 receives in a day (test: redelivery.test.ts). */
const receiveBackoff = { baseMs: 1_000, capMs: 900_000 };

/** The minimum delay of a message after this many receives, ms. */
function minDelayMs(receives: number, random: () => number): number {
  if (receives <= freeReceives) return 0;
  return backoffMs(receives - freeReceives, { ...receiveBackoff, random: () => 0.85 + 0.15 * random() });
}

/** Sends all deliveries back to the queue after `askedMs`, or later if they were received often. */
export const sendBack = (group: readonly Delivery[], askedMs: number, random: () => number): Settlement[] =>
  group.map((delivery) => ({
    delivery,
    // Planted fault: delay-does-not-grow
    verdict: { kind: 'retry', delayMs: Math.max(askedMs, minDelayMs(delivery.receives, random)) },
  }));

/** Sends an advert's messages back with a delay, or dead-letters the oldest and sends the others back. Never rejects. */
export async function afterFault(deps: AdvertDeps, group: Group, fault: BridgeFault): Promise<Settlement[]> {
  const { observer, clock, random, settings } = deps;
  const [head, ...others] = group;
  const { partnerAccount, correlationId } = head.message;
  const counted = await countTry(deps, head, fault).catch(() => undefined);
  const tries = counted ?? 1;
  const isOld = clock.now() - head.sentAt >= settings.maxAgeMs;
  const isGivenUp = {
    'at-once': true,
    'by-tries': tries >= settings.advertTries,
    'by-age': isOld,
    // Planted fault: aged-while-paused
    never: false,
  }[fault.policy.deadLettered];
  const reported = { fault: fault.code, reason: fault.message };
  const about = { partnerAccount, advertId: objectKeyOf(head.message), correlationId };
  const fields = { ...about, ...reported, error: fault.cause };
  // If the row could not be written, the message comes back: after it, nothing would show that the advert was listed.
  if (counted !== undefined && isGivenUp) {
    observer.error('message dead-lettered', fields);
    const deadLetter = deadLetterOf(head, reported, clock.now());
    // The others go back without a delay, even if they were received often: with one, only one of them would leave the
    // queue every 15 minutes.
    const atOnce = { kind: 'retry', delayMs: 0 } as const;
    return [
      { delivery: head, verdict: { kind: 'dead-letter', deadLetter } },
      // Planted fault: others-done-with-dead-letter
      ...others.map((delivery) => ({ delivery, verdict: atOnce })),
    ];
  }
  observer.warn('advert not settled: it is tried again', fields);
  if (fault.policy.needsAttention) observer.count(metrics.needsAttention, 1);
  // The queue would lose it in the end: the drain sends it again, as a new message.
  if (counted !== undefined && isOld && fault.policy.deadLettered === 'never')
    return group.map((delivery) => ({ delivery, verdict: { kind: 'hold' } }));
  const { countsTries, ...range } = retryPolicyOf(fault);
  // Only half of the delay is random, so that the tries are not used up within a moment.
  const half = { ...range, random: () => 0.5 + random() / 2 };
  // Where the account or the bridge waits, an operator may end that early. Where the service named a time for this advert
  // alone, it counts.
  const longestMs = isOwnWait(fault) ? longestWaitMs : settings.longestHiddenMs;
  // Planted fault: delay-does-not-grow
  const delayMs = Math.max(
    backoffMs(countsTries ? tries : head.receives, half),
    Math.min(fault.retryAfterMs ?? 0, longestMs),
  );
  return sendBack(group, delayMs, random);
}

/**
 * Counts the try in the row, which so shows that the advert was listed even before its first event. Transient faults of
 * an advert with a history are not counted.
 *
 * @returns the number of tries, this one included
 */
async function countTry(
  { advertHistories }: AdvertDeps,
  { message }: Group[0],
  fault: BridgeFault,
): Promise<number> {
  const row = await advertHistories.read(message);
  const tries = (row?.tries ?? 0) + 1;
  if (row && !retryPolicyOf(fault).countsTries) return tries;
  await advertHistories.write(message, { ...(row ?? firstRow), tries, fault: fault.code });
  return tries;
}

/** @param fault kind of the fault; `reason` explains in words why the message is dead-lettered */
export const deadLetterOf = (
  { message, about, receives }: Delivery,
  { fault, reason }: Pick<DeadLetter, 'fault' | 'reason'>,
  nowMs: number,
): DeadLetter => ({
  partnerAccount: (message ?? about)?.partnerAccount ?? null,
  advertId: message ? objectKeyOf(message) : (about?.advertId ?? null),
  fault,
  reason,
  at: toInstant(nowMs),
  receives,
  message: message ?? null,
});
