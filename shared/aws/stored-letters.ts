import { messageGroupOf } from '../domain/queue/message-groups.ts';
import type { BooksWriter } from './books.ts';
import { countMessages } from './sqs/queue-counts.ts';
import { remove, scanDeadLetters } from './sqs/scan-dead-letters.ts';
import { type Queue, sendBatches } from './sqs/send-batches.ts';
import { type Stored, storedOf } from './sqs/stored-letter.ts';

export interface StoredLettersOptions {
  readonly queue: Queue;
  readonly deadLetterQueue: Queue;
  readonly books: BooksWriter;
}

/** Which letters are meant; all of them where nothing is given. */
interface LetterChoice {
  readonly ids?: readonly string[];
  readonly partnerAccount?: string;
}

/** IDs of the letters met, by what became of them. */
interface LetterOutcome {
  readonly done: string[];
  /** Letters without a message: there is nothing to put back. */
  readonly nothingToSend: string[];
  /** SQS did not accept the message, or did not delete the letter: it is still there. */
  readonly refused: string[];
}

/** The dead letters of a stack, for a person: to read, to put back into the queue, to throw away. */
export class StoredLetters {
  readonly #options: StoredLettersOptions;

  constructor(options: StoredLettersOptions) {
    this.#options = options;
  }

  /** Oldest first. `unseen`: about how many more are there that SQS does not hand out now. */
  async list(choice: LetterChoice) {
    const found: Stored[] = [];
    const unseen = await this.#visit(choice, async (letters) => {
      found.push(...letters);
      return [];
    });
    const oldestFirst = found.sort((a, b) => (a.letter.at < b.letter.at ? -1 : 1));
    return { letters: oldestFirst.map(({ held, letter }) => ({ id: held.id, letter })), unseen };
  }

  /**
   * Puts the messages back under their own keys: fan-out finds its own work again by them. SQS's own move task is no
   * help, for a letter wraps its message with the reason.
   */
  async redrive(choice: LetterChoice) {
    const outcome: LetterOutcome = { done: [], nothingToSend: [], refused: [] };
    const unseen = await this.#visit(choice, async (letters) => {
      const accepted = await this.#send(letters);
      const gone = await this.#takeOut(accepted, ({ isCounted }) => (isCounted ? -1 : 0));
      for (const stored of letters) {
        const became = gone.includes(stored) ? 'done' : stored.letter.message ? 'refused' : 'nothingToSend';
        outcome[became].push(stored.held.id);
      }
      return gone;
    });
    return { ...outcome, unseen };
  }

  /** Takes the letters out for good; the books count each as dead-lettered from now on, if they did not yet. */
  async drop(choice: { readonly ids: readonly string[] }) {
    const outcome: LetterOutcome = { done: [], nothingToSend: [], refused: [] };
    const unseen = await this.#visit(choice, async (letters) => {
      const gone = await this.#takeOut(letters, ({ isCounted }) => (isCounted ? 0 : 1));
      for (const stored of letters) outcome[gone.includes(stored) ? 'done' : 'refused'].push(stored.held.id);
      return gone;
    });
    return { ...outcome, unseen };
  }

  /** @param take gives back those that it removed @returns about how many letters SQS did not hand out */
  async #visit(choice: LetterChoice, take: (letters: readonly Stored[]) => Promise<readonly Stored[]>) {
    const { deadLetterQueue } = this.#options;
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

  /** @returns those whose message the queue has accepted */
  async #send(letters: readonly Stored[]): Promise<readonly Stored[]> {
    const messages = letters.flatMap(({ held: { id }, letter: { message } }) => {
      if (message === null) return [];
      const groupId = messageGroupOf(message);
      // Not the message's key: the queue may have accepted that one minutes ago, and would drop this.
      return { key: id, body: JSON.stringify(message), groupId, deduplicationId: `redrive-${id}` };
    });
    const refused = await sendBatches(this.#options.queue, messages);
    return letters.filter(({ held, letter }) => letter.message && !refused.has(held.id));
  }

  /** @param change what each letter adds to `deadLettered` in the books @returns those that are gone */
  async #takeOut(letters: readonly Stored[], change: (stored: Stored) => number) {
    const { books, deadLetterQueue } = this.#options;
    const held = letters.map((stored) => stored.held);
    const gone = new Set(await remove(deadLetterQueue, held));
    const taken = letters.filter((stored) => gone.has(stored.held));
    for (const stored of taken) {
      const { message } = stored.letter;
      if (!message) continue;
      const { partnerAccount, generation, feed } = message;
      await books.add(partnerAccount, generation, { deadLettered: change(stored) }, feed);
    }
    return taken;
  }
}

function isMeant({ held, letter }: Stored, { ids, partnerAccount }: LetterChoice): boolean {
  if (ids !== undefined) return ids.includes(held.id);
  return partnerAccount === undefined || letter.partnerAccount === partnerAccount;
}
