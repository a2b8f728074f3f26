/** The dead letters of a stack, for a person: to read, to put back into the queue, to throw away. */
import { messageGroupOf } from '../domain/queue/message-groups.ts';
import type { Books } from './books.ts';
import { countMessages } from './sqs/queue-counts.ts';
import { remove, scanDeadLetters } from './sqs/scan-dead-letters.ts';
import { type Queue, sendBatches } from './sqs/send-batches.ts';
import { type Stored, storedOf } from './sqs/stored-letter.ts';

export interface StoredLettersOptions {
  readonly queue: Queue;
  readonly deadLetterQueue: Queue;
  readonly books: Books;
}

/** Which letters are meant; all of them where nothing is given. */
interface LetterChoice {
  readonly ids?: readonly string[];
  readonly partnerAccount?: string;
}

export type StoredLetters = ReturnType<typeof createStoredLetters>;

export function createStoredLetters({ queue, deadLetterQueue, books }: StoredLettersOptions) {
  /** @param take gives back those that it removed; undefined: all are left */
  async function visit(
    choice: LetterChoice,
    take: (letters: readonly Stored[]) => Promise<readonly Stored[]> = async () => [],
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
    return { unseen: isEnough() ? 0 : Math.max(0, inQueue - seen) };
  }

  /** @returns those whose message is in the queue and that are gone from the dead letters */
  async function putBack(letters: readonly Stored[]): Promise<readonly Stored[]> {
    const refused = await sendBatches(
      queue,
      letters.flatMap(({ held: { id }, letter: { message } }) =>
        message === null
          ? []
          : {
              key: id,
              body: JSON.stringify(message),
              groupId: messageGroupOf(message),
              // Not the message's key: the queue may have accepted that one minutes ago, and would drop this.
              deduplicationId: `redrive-${id}`,
            },
      ),
    );
    return takeOut(
      letters.filter(({ held }) => !refused.has(held.id)),
      (isCounted) => (isCounted ? -1 : 0),
    );
  }

  async function takeOut(letters: readonly Stored[], counted: (isCounted: boolean) => number) {
    const gone = new Set(
      await remove(
        deadLetterQueue,
        letters.map(({ held }) => held),
      ),
    );
    const taken = letters.filter(({ held }) => gone.has(held));
    for (const { letter, isCounted } of taken) {
      const { message } = letter;
      if (!message) continue;
      await books.add(message.partnerAccount, message.generation, { deadLettered: counted(isCounted) });
    }
    return taken;
  }

  return {
    /** Oldest first. `unseen`: about how many more are there that SQS does not hand out now. */
    async list(choice: LetterChoice) {
      const letters: Stored[] = [];
      const { unseen } = await visit(choice, async (found) => {
        letters.push(...found);
        return [];
      });
      const oldestFirst = letters.sort((a, b) => (a.letter.at < b.letter.at ? -1 : 1));
      return { letters: oldestFirst.map(({ held, letter }) => ({ id: held.id, letter })), unseen };
    },

    /**
     * Puts the messages back under their own keys: fan-out finds its own work again by them. SQS's own move task is no
     * help, for a letter wraps its message with the reason.
     */
    async redrive(choice: LetterChoice) {
      const outcome = { done: [] as string[], nothingToSend: [] as string[], refused: [] as string[] };
      const { unseen } = await visit(choice, async (found) => {
        const moved = await putBack(found.filter(({ letter }) => letter.message !== null));
        for (const stored of found) {
          if (moved.includes(stored)) outcome.done.push(stored.held.id);
          else outcome[stored.letter.message ? 'refused' : 'nothingToSend'].push(stored.held.id);
        }
        return moved;
      });
      return { ...outcome, unseen };
    },

    /** Takes the letters out for good; the books count each as dead-lettered from now on, if they did not yet. */
    async drop(choice: { readonly ids: readonly string[] }) {
      const outcome = { done: [] as string[], nothingToSend: [] as string[], refused: [] as string[] };
      const { unseen } = await visit(choice, async (found) => {
        const gone = await takeOut(found, (isCounted) => (isCounted ? 0 : 1));
        for (const stored of found) outcome[gone.includes(stored) ? 'done' : 'refused'].push(stored.held.id);
        return gone;
      });
      return { ...outcome, unseen };
    },
  };
}

function isMeant({ held, letter }: Stored, { ids, partnerAccount }: LetterChoice): boolean {
  if (ids !== undefined) return ids.includes(held.id);
  return partnerAccount === undefined || letter.partnerAccount === partnerAccount;
}
