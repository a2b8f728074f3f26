import { createHash } from 'node:crypto';
import type { DeadLetter } from '../contract/messages.ts';
import type { DeadLetters } from '../ports/dead-letters.ts';
import type { Edges } from './batches/batches.ts';
import { type Outgoing, type Queue, sendBatches } from './sqs/send-batches.ts';

/** A dead letter with a unique ID, such as the ID of its message. */
export interface Addressed {
  readonly id: string;
  readonly letter: DeadLetter;
}

/** @returns the IDs of the dead letters that the queue did not accept */
export function sendDeadLetters(
  queue: Queue,
  letters: readonly Addressed[],
  edges: Edges,
): Promise<Set<string>> {
  return sendBatches(queue, letters.map(outgoing), edges);
}

const outgoing = ({ id, letter }: Addressed): Outgoing => ({
  key: id,
  body: JSON.stringify(letter),
  // Hashed, because a malformed ID may contain characters that SQS does not allow here.
  groupId: digest(letter.partnerAccount, letter.advertId),
  // The key of the message is not used here: if a redriven message fails again, it is a new dead letter and not a
  // repetition.
  deduplicationId: digest(id),
});

const digest = (...parts: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex');

export interface DeadLettersOptions extends Edges {
  readonly queue: Queue;
}

/** Sends malformed IDs of the feed to the dead-letter queue; the write of the cursor counts them. */
export function createDeadLetters({ queue, ...edges }: DeadLettersOptions): DeadLetters {
  return {
    async sendMalformed(letters) {
      // Deduplicated by the listed text, so that a page that is read again within minutes creates no second dead
      // letter.
      const addressed = letters.map((letter) => ({
        id: JSON.stringify([letter.partnerAccount, letter.advertId, letter.count, letter.reason]),
        letter,
      }));
      const refused = await sendDeadLetters(queue, addressed, edges);
      if (refused.size > 0) {
        throw new Error(`the dead-letter queue did not accept ${refused.size} of ${letters.length} letters`);
      }
    },
  };
}
