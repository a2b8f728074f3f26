import type { ChangedAdvert, DeadLetter } from '../../contract/messages.ts';
import { objectKeyOf } from '../advert-event.ts';
import { toInstant } from '../clock.ts';

/** Fault kind of a message that the queue itself dead-lettered. */
export const movedByQueue = 'moved-by-queue';

/** The dead letter that a queue other than SQS writes when it dead-letters a message itself. */
export const movedLetter = (message: ChangedAdvert | null, receives: number, nowMs: number): DeadLetter => ({
  partnerAccount: message?.partnerAccount ?? null,
  advertId: message && objectKeyOf(message),
  fault: movedByQueue,
  reason: `the queue gave it up after ${receives - 1} deliveries, none of which came to an end`,
  at: toInstant(nowMs),
  receives: receives - 1,
  message,
});
