import type { ChangedAdvert, DeadLetter } from '../../contract/messages.ts';
import { toInstant } from '../clock.ts';
import { objectKeyOf } from '../history-key.ts';

/** The kind of what the queue moved by itself. */
export const movedByQueue = 'moved-by-queue';

/** What a queue that is not SQS writes for a message that it moves. */
export const movedLetter = (message: ChangedAdvert | null, receives: number, nowMs: number): DeadLetter => ({
  partnerAccount: message?.partnerAccount ?? null,
  advertId: message && objectKeyOf(message),
  fault: movedByQueue,
  reason: `the queue gave it up after ${receives - 1} deliveries, none of which came to an end`,
  at: toInstant(nowMs),
  receives: receives - 1,
  message,
});
