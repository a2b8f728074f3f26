import type { DeadLetter } from '../../shared/contract/messages.ts';
import { toInstant } from '../../shared/domain/clock.ts';
import { objectKeyOf } from '../../shared/domain/history-key.ts';
import type { Delivery } from '../../shared/ports/deliveries.ts';

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
