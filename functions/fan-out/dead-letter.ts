import type { DeadLetter } from '../../shared/contract/messages.ts';
import { toInstant } from '../../shared/domain/clock.ts';
import type { PartnerError } from '../../shared/domain/faults.ts';
import type { Delivery } from '../../shared/ports/deliveries.ts';
import type { MessageDelivery, RetrySettings } from './advert.ts';

/** What lands in the dead letters says why, in words. */
export function deadLetterOf(
  { message, receives }: MessageDelivery,
  fault: PartnerError,
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

/** For a message that was delivered too often without coming to an end. */
export const oftenDeliveredLetter = ({ message, receives }: MessageDelivery, nowMs: number): DeadLetter => ({
  partnerAccount: message.partnerAccount,
  advertId: message.advertId,
  fault: 'delivered-too-often',
  reason: `delivered ${receives} times without an end: fan-out crashes or runs out of time over it. Its log says more`,
  at: toInstant(nowMs),
  receives,
  message,
});

/** Whether the fault ends the message's life: decided by the kind of fault, not by how often it was received. */
export function isGivenUp(
  fault: PartnerError,
  { sentAt }: Delivery,
  {
    tries,
    nowMs,
    settings,
  }: { readonly tries: number; readonly nowMs: number; readonly settings: RetrySettings },
): boolean {
  switch (fault.policy.deadLettered) {
    case 'at-once':
      return true;
    case 'by-tries':
      return tries >= settings.advertTries;
    case 'by-age':
      return nowMs - sentAt >= settings.maxAgeMs;
  }
}
