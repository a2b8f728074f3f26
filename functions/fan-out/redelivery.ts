/** How long messages that go back stay away, and when fan-out gives one up for having been delivered too often. */
import { backoffMs } from '../../shared/domain/backoff.ts';
import type { PartnerError } from '../../shared/domain/faults.ts';
import type { Delivery, Settlement } from '../../shared/ports/deliveries.ts';

/**
 * After so many receives fan-out dead-letters a message by itself, with *owed* written. Far more than the delays below
 * allow in a day, so only deliveries that end without a decision (a crash, a timeout, a delay that could not be set) come
 * to it; far fewer than the receives after which SQS moves a message (maxReceiveCount).
 */
export const defaultMaxReceives = 300;
/** What waits for a known moment longer than this does not wait in the queue: a hidden message cannot be called back. */
export const defaultLongestHiddenMs = 60_000;

/** Five tries of an advert-specific fault end within two minutes; a transient one is asked about less and less. */
const advertBackoff = { baseMs: 2_000, capMs: 16_000 };
const transientBackoff = { baseMs: 1_000, capMs: 300_000 };

/** How long to wait after a fault. What the service asked for is a lower bound, up to `longestHiddenMs`. */
export function delayAfter(
  fault: PartnerError,
  { attempt, longestHiddenMs, random }: { attempt: number; longestHiddenMs: number; random: () => number },
): number {
  const backoff = fault.policy.deadLettered === 'by-age' ? transientBackoff : advertBackoff;
  // Half of it is certain, so that a fault does not use up its tries at once.
  const waitMs = backoffMs(attempt, { ...backoff, random: () => 0.5 + random() / 2 });
  return Math.max(waitMs, Math.min(fault.retryAfterMs ?? 0, longestHiddenMs));
}

/**
 * Receives that cost a message no delay of their own: nine messages of the same advert before it may each be tried five
 * times, and it goes back with each.
 */
const freeReceives = 40;
/** With these no message has more than 200 receives in a day, whatever sends it back (test: redelivery.test.ts). */
const receiveBackoff = { baseMs: 1_000, capMs: 900_000 };

/** The shortest delay of a message that has been received so often, ms. */
export function minDelayMs(receives: number, random: () => number): number {
  if (receives <= freeReceives) return 0;
  return backoffMs(receives - freeReceives, { ...receiveBackoff, random: () => 0.85 + 0.15 * random() });
}

/** All of `deliveries` go back for `askedMs`, or longer where one was received often. */
export function sendBack(
  deliveries: readonly Delivery[],
  askedMs: number,
  random: () => number,
): Settlement[] {
  return deliveries.map((delivery) => ({
    delivery,
    verdict: { kind: 'retry', delayMs: Math.max(askedMs, minDelayMs(delivery.receives, random)) },
  }));
}
