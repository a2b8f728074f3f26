import { messageGroupOf } from '../domain/queue/message-groups.ts';
import type { LetterChoice, StoredLetters } from '../ports/dead-letters.ts';
import type { BooksWriter } from './books.ts';
import { countMessages } from './sqs/queue-counts.ts';
import { remove, scanDeadLetters } from './sqs/scan-dead-letters.ts';
import { type Queue, sendBatches } from './sqs/send-batches.ts';
import { type Stored, storedOf } from './sqs/stored-letter.ts';

interface StoredLettersOptions {
  readonly queue: Queue;
  readonly deadLetterQueue: Queue;
  readonly books: BooksWriter;
}

/** The dead letters of a stack, for operators: to read, redrive and drop them. */
export function createStoredLetters({ queue, deadLetterQueue, books }: StoredLettersOptions): StoredLetters {
  /**
   * @param take returns the dead letters that it removed @returns approximate number of dead letters that SQS did not
   * deliver
   */
  async function visit(
    choice: LetterChoice,
    take: (letters: readonly Stored[]) => Promise<readonly Stored[]>,
  ) {
    const inQueue = await countMessages(deadLetterQueue);
    let [seen, found] = [0, 0];
    const isEnough = () => choice.ids !== undefined && found === new Set(choice.ids).size;
    await scanDeadLetters(
      deadLetterQueue,
      async (batch) => {
        const wanted = batch.map(storedOf).filter((stored) => isMeant(stored, choice));
        seen += batch.length;
        found += wanted.length;
        return (await take(wanted)).map(({ held }) => held);
      },
      isEnough,
    );
    return isEnough() ? 0 : Math.max(0, inQueue - seen);
  }

  /** @returns the dead letters whose message the queue has accepted */
  async function send(letters: readonly Stored[]): Promise<readonly Stored[]> {
    const messages = letters.flatMap(({ held: { id }, letter: { message } }) => {
      if (message === null) return [];
      const groupId = messageGroupOf(message);
      // The message's key is not used here: the queue may have accepted it minutes ago, and would drop this message as
      // a duplicate.
      return { key: id, body: JSON.stringify(message), groupId, deduplicationId: `redrive-${id}` };
    });
    const refused = await sendBatches(queue, messages);
    return letters.filter(({ held, letter }) => letter.message && !refused.has(held.id));
  }

  /** @param change number that each dead letter adds to `deadLettered` in the books @returns the deleted ones */
  async function takeOut(letters: readonly Stored[], change: (stored: Stored) => number) {
    const held = letters.map((stored) => stored.held);
    const gone = new Set(await remove(deadLetterQueue, held));
    const taken = letters.filter((stored) => gone.has(stored.held));
    for (const stored of taken) {
      const { message } = stored.letter;
      if (!message) continue;
      const { partnerAccount, generation } = message;
      await books.add(partnerAccount, generation, { deadLettered: change(stored) });
    }
    return taken;
  }

  return {
    async list(choice) {
      const found: Stored[] = [];
      const unseen = await visit(choice, async (letters) => {
        found.push(...letters);
        return [];
      });
      const oldestFirst = found.sort((a, b) => (a.letter.at < b.letter.at ? -1 : 1));
      return { letters: oldestFirst.map(({ held, letter }) => ({ id: held.id, letter })), unseen };
    },

    // The messages keep their original keys, by which fan-out recognises its own writes. SQS's move task cannot be used,
    // because a dead letter wraps its message together with the reason.
    async redrive(choice) {
      const outcome = noOutcome();
      const unseen = await visit(choice, async (letters) => {
        const accepted = await send(letters);
        const gone = await takeOut(accepted, ({ isCounted }) => (isCounted ? -1 : 0));
        for (const stored of letters) {
          const became = gone.includes(stored) ? 'done' : stored.letter.message ? 'refused' : 'nothingToSend';
          outcome[became].push(stored.held.id);
        }
        return gone;
      });
      return { ...outcome, unseen };
    },

    // The books count each as dead-lettered, also those that were not counted before.
    async drop(choice) {
      const outcome = noOutcome();
      const unseen = await visit(choice, async (letters) => {
        const gone = await takeOut(letters, ({ isCounted }) => (isCounted ? 0 : 1));
        for (const stored of letters)
          outcome[gone.includes(stored) ? 'done' : 'refused'].push(stored.held.id);
        return gone;
      });
      return { ...outcome, unseen };
    },
  };
}

const noOutcome = () => ({
  done: [] as string[],
  nothingToSend: [] as string[],
  refused: [] as string[],
});

function isMeant({ held, letter }: Stored, { ids, partnerAccount }: LetterChoice): boolean {
  if (ids !== undefined) return ids.includes(held.id);
  return partnerAccount === undefined || letter.partnerAccount === partnerAccount;
}
