import type { ShapeError } from '../shared/contract/checks.ts';
import type { StoredDeadLetter } from '../shared/state/aside.ts';
import { countInBooks } from '../shared/state/books.ts';
import type { Bridge } from './bridge.ts';
import { requireKnown } from './errors.ts';

/** Selects dead letters: those that match all that is given. */
export interface DeadLetterFilter {
  readonly ids?: readonly string[] | undefined;
  readonly partnerAccount?: string | undefined;
  readonly fault?: string | undefined;
  /** ISO 8601: only those given up before this time. */
  readonly before?: string | undefined;
}

type OnProgress = (done: number, all: number) => void;

const atOnce = 250;

export type DeadLetterList = Awaited<ReturnType<typeof listDeadLetters>>;

/** @throws {UsageError} for an account that neither the bridge nor a dead letter knows: they outlive a forgotten account */
export async function listDeadLetters(
  { deadLetters, partnerAccounts }: Pick<Bridge, 'deadLetters' | 'partnerAccounts'>,
  { ids, partnerAccount, fault, before }: DeadLetterFilter,
) {
  const unreadable: string[] = [];
  const onUnreadable = ({ message }: ShapeError) => void unreadable.push(message);
  const lists = (ids ?? [partnerAccount]).map((of) => deadLetters.list(of, onUnreadable));
  const found = (await Promise.all(lists)).flat();
  if (found.length + unreadable.length === 0) await requireKnown(partnerAccounts, partnerAccount);
  const beforeMs = before === undefined ? Number.POSITIVE_INFINITY : Date.parse(before);
  const letters = found
    .filter(({ letter }) => fault === undefined || letter.fault === fault)
    .filter(({ letter }) => Date.parse(letter.at) < beforeMs)
    .sort((x, y) => Date.parse(x.letter.at) - Date.parse(y.letter.at));
  const listed = new Set(letters.map(({ id }) => id));
  return {
    /** Oldest first. */
    letters,
    groups: groupsOf(letters),
    unreadable: unreadable as readonly string[],
    /** The given IDs that no dead letter has. */
    unknown: (ids ?? []).filter((id) => !listed.has(id)),
  };
}

/** By partner account, fault and reason; the largest group first. */
function groupsOf(letters: readonly StoredDeadLetter[]) {
  const groups = Map.groupBy(letters, ({ letter: { partnerAccount, fault, reason } }) =>
    JSON.stringify([partnerAccount, fault, reason]),
  );
  return [...groups.values()]
    .map((group) => {
      const { partnerAccount, fault, reason, at: from } = (group[0] as StoredDeadLetter).letter;
      const to = group.at(-1)?.letter.at ?? from;
      return { partnerAccount, fault, reason, count: group.length, from, to };
    })
    .sort((a, b) => b.count - a.count);
}

/** Has the drain put the messages of the given dead letters back into the queue. @returns their IDs */
export async function redriveDeadLetters(
  { deadLetters, books }: Pick<Bridge, 'deadLetters' | 'books'>,
  letters: readonly StoredDeadLetter[],
  onProgress?: OnProgress,
) {
  const messages = letters.flatMap(({ id, key, etag, letter: { message } }) =>
    message ? [{ id, key, etag, message }] : [],
  );
  const redrive = async (some: readonly (typeof messages)[number][]) => {
    await deadLetters.redrive(some);
    if (books)
      await countInBooks(
        books,
        some.map(({ message }) => [message, { deadLettered: -1 }]),
      );
  };
  await inSteps(messages, redrive, onProgress);
  return {
    redriven: messages.map(({ id }) => id),
    nothingToSend: letters.filter(({ letter }) => !letter.message).map(({ id }) => id),
  };
}

/** Removes dead letters for good, unless they were stored again meanwhile. */
export const dropDeadLetters = (
  { deadLetters }: Pick<Bridge, 'deadLetters'>,
  letters: readonly StoredDeadLetter[],
  onProgress?: OnProgress,
): Promise<void> => inSteps(letters, deadLetters.drop, onProgress);

async function inSteps<T>(
  all: readonly T[],
  act: (some: readonly T[]) => Promise<void>,
  onProgress?: OnProgress,
) {
  for (let from = 0; from < all.length; from += atOnce) {
    await act(all.slice(from, from + atOnce));
    onProgress?.(Math.min(from + atOnce, all.length), all.length);
  }
}
