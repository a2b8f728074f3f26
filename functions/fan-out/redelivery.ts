/**
 * How long a message waits after a fault, and when it is given up: by the kind of fault, as `deadLettered` in
 * shared/domain/faults.ts has it. Other steps ask for delays of their own; `sendBack` makes all of them longer where a message
 * was received often.
 */
import { backoffMs } from '../../shared/domain/backoff.ts';
import type { FaultPolicy, PartnerError } from '../../shared/domain/faults.ts';
import type { Delivery, Settlement } from '../../shared/ports/deliveries.ts';

export interface RetrySettings {
  /** How often an advert-specific fault is tried before its message is dead-lettered. */
  readonly advertTries: number;
  /** How old a message may grow over transient faults, ms. */
  readonly maxAgeMs: number;
  /** A message received more often is given up. Default 300. */
  readonly maxReceives?: number;
  /** Waits for a known moment that are longer than this are spent outside the queue, ms. Default 60,000. */
  readonly longestHiddenMs?: number;
}

/**
 * After so many receives fan-out dead-letters a message by itself, with *owed* written. Far more than the delays below
 * allow in a day, so only deliveries that end without a decision (a crash, a timeout, a delay that could not be set) come
 * to it; far fewer than the receives after which SQS moves a message (maxReceiveCount).
 */
export const defaultMaxReceives = 300;
/** What waits for a known moment longer than this does not wait in the queue: a hidden message cannot be called back. */
export const defaultLongestHiddenMs = 60_000;

/** How often it has been attempted: `tries` over faults of the advert's own, `receives` whatever happened. */
export interface Attempts {
  readonly tries: number;
  readonly receives: number;
}

interface RetryPolicy {
  readonly baseMs: number;
  readonly capMs: number;
  /** Tries are counted in the advert's row, and decide; otherwise the message's receives and its age do. */
  readonly countsTries: boolean;
}

/** Five tries of an advert-specific fault end within two minutes; a transient one is retried less and less often. */
const retryPolicies: Readonly<Record<FaultPolicy['deadLettered'], RetryPolicy>> = {
  // Retried only while its dead letter cannot be written.
  'at-once': { baseMs: 2_000, capMs: 16_000, countsTries: true },
  'by-tries': { baseMs: 2_000, capMs: 16_000, countsTries: true },
  'by-age': { baseMs: 1_000, capMs: 300_000, countsTries: false },
};

export const retryPolicyOf = ({ policy }: PartnerError): RetryPolicy => retryPolicies[policy.deadLettered];

/** Whether the fault ends the message's life. */
export function isGivenUp(
  { policy }: PartnerError,
  { tries }: Attempts,
  ageMs: number,
  { advertTries, maxAgeMs }: RetrySettings,
): boolean {
  switch (policy.deadLettered) {
    case 'at-once':
      return true;
    case 'by-tries':
      return tries >= advertTries;
    case 'by-age':
      return ageMs >= maxAgeMs;
  }
}

export interface DelayOptions {
  readonly longestHiddenMs?: number;
  readonly random: () => number;
}

/** How long to wait after a fault, ms. What the service asked for is a lower bound, up to `longestHiddenMs`. */
export function delayAfter(
  fault: PartnerError,
  { tries, receives }: Attempts,
  { longestHiddenMs = defaultLongestHiddenMs, random }: DelayOptions,
): number {
  const { countsTries, ...backoff } = retryPolicyOf(fault);
  // Half of it is certain, so that a fault does not use up its tries at once.
  const waitMs = backoffMs(countsTries ? tries : receives, { ...backoff, random: () => 0.5 + random() / 2 });
  // Planted fault: delay-does-not-grow
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
    // Planted fault: delay-does-not-grow
    verdict: { kind: 'retry', delayMs: Math.max(askedMs, minDelayMs(delivery.receives, random)) },
  }));
}
