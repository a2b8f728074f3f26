import type { DeadLetter } from '../../shared/contract/messages.ts';
import { objectKeyOf } from '../../shared/domain/advert-event.ts';
import { toInstant } from '../../shared/domain/clock.ts';
import type { Delivery, Settlement } from '../../shared/ports/deliveries.ts';
import type { Group } from './advert.ts';

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

/**
 * Dead-letters the oldest message. The others go back without a delay, even if they were received often: each dead
 * letter costs the messages behind it one receive, and with a delay each time, only one of them would leave the queue
 * every 15 minutes.
 */
export function deadLetterOldest([head, ...others]: Group, letter: DeadLetter): Settlement[] {
  const atOnce = { kind: 'retry', delayMs: 0 } as const;
  // Planted fault: others-done-with-dead-letter
  return [
    { delivery: head, verdict: { kind: 'dead-letter', letter } },
    ...others.map((delivery) => ({ delivery, verdict: atOnce })),
  ];
}

/** Puts all messages of the group aside, until the drain puts them back (functions/drain/release.ts). */
export const hold = (group: Group): Settlement[] =>
  // Planted fault: stopped-wait-in-queue
  group.map((delivery) => ({ delivery, verdict: { kind: 'hold' } }));
