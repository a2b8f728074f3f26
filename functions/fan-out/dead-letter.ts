import type { DeadLetter } from '../../shared/contract/messages.ts';
import { backoffMs } from '../../shared/domain/backoff.ts';
import { toInstant } from '../../shared/domain/clock.ts';
import type { PartnerFault } from '../../shared/domain/faults.ts';
import type { Delivery } from './ports.ts';
import type { MessageDelivery } from './settle-advert.ts';

/** What lands in the dead letters says why, in words. */
export function deadLetterOf(
  { message, receives }: MessageDelivery,
  fault: PartnerFault,
  nowMs: number,
): DeadLetter {
  return {
    partnerAccount: message.partnerAccount,
    advertId: message.advertId,
    fault: fault.code,
    reason: fault.message,
    at: toInstant(nowMs),
    receives,
    message,
  };
}

/** For a body in the queue that is not of the contract: somebody else wrote it, or another version did. */
export function malformedLetter({ flaw, about, receives }: Delivery, nowMs: number): DeadLetter {
  return {
    partnerAccount: about?.partnerAccount ?? null,
    advertId: about?.advertId ?? null,
    fault: 'malformed-message',
    reason: flaw ?? 'the message is not of the contract',
    at: toInstant(nowMs),
    receives,
    message: null,
  };
}

export interface RetrySettings {
  /** How often an advert-specific fault is tried before its message is dead-lettered. */
  readonly advertTries: number;
  /** How old a message may grow over passing faults, ms. */
  readonly mostAgeMs: number;
}

/** Whether the fault ends the message's life: decided by the kind of fault, not by how often it was received. */
export function isHopeless(
  fault: PartnerFault,
  { sentAt }: Delivery,
  {
    tries,
    nowMs,
    settings,
  }: { readonly tries: number; readonly nowMs: number; readonly settings: RetrySettings },
): boolean {
  return fault.policy.deadLettered === 'by-tries'
    ? tries >= settings.advertTries
    : nowMs - sentAt >= settings.mostAgeMs;
}

/** Five tries of an advert-specific fault end within two minutes; a passing one is asked about less and less. */
const advertBackoff = { baseMs: 2_000, capMs: 16_000 };
const passingBackoff = { baseMs: 1_000, capMs: 300_000 };

/** How long the message stays away: what the service asked for, else backoff. */
export function delayOf(fault: PartnerFault, attempt: number, random: () => number): number {
  if (fault.retryAfterMs !== undefined) return fault.retryAfterMs;
  const backoff = fault.policy.deadLettered === 'by-tries' ? advertBackoff : passingBackoff;
  // Half of it is certain, so that a fault does not use up its tries at once.
  return backoffMs(attempt, { ...backoff, random: () => 0.5 + random() / 2 });
}
