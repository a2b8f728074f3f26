import { createHash } from 'node:crypto';
import type { DeadLetter } from '../contract/messages.ts';
import type { DeadLetters } from '../ports/dead-letters.ts';
import type { Edges } from './batches/batches.ts';
import { type Outgoing, type Queue, sendBatches } from './sqs/send-batches.ts';

/** A letter with an ID that no other letter has, such as that of the message it is made from. */
export interface Addressed {
  readonly id: string;
  readonly letter: DeadLetter;
}

/** @returns the IDs of those that the queue did not accept */
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
  // Hashed, for a malformed ID may hold what SQS does not allow here.
  groupId: digest(letter.partnerAccount, letter.advertId),
  // Not the key of the message: a message that was redriven and failed again is another letter, not a repetition.
  deduplicationId: digest(id),
});

const digest = (...parts: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex');

export interface DeadLettersOptions extends Edges {
  readonly queue: Queue;
}

/** What the feed lists although it is no advert ID goes to the dead-letter queue; the cursor's write counts it. */
export function createDeadLetters({ queue, ...edges }: DeadLettersOptions): DeadLetters {
  return {
    async sendMalformed(letters) {
      // By what was listed: a page that is read again within minutes leaves no second letter.
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
