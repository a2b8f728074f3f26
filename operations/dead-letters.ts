import { ShapeError } from '../shared/contract/checks.ts';
import { putBack, type StoredDeadLetter } from '../shared/state/aside.ts';
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

/** A crash in between puts at most these back twice. */
const atOnce = 250;

export type DeadLetterList = Awaited<ReturnType<typeof listDeadLetters>>;

/** @throws {UsageError} for an account that neither the bridge nor a dead letter knows: they outlive a forgotten account */
export async function listDeadLetters(
  { deadLetters, partnerAccounts }: Pick<Bridge, 'deadLetters' | 'partnerAccounts'>,
  { ids, partnerAccount, fault, before }: DeadLetterFilter,
) {
  const unreadable: string[] = [];
  const onUnreadable = ({ message }: ShapeError) => void unreadable.push(message);
  const get = (id: string) =>
    deadLetters.get(id).catch((error: unknown) => {
      if (!(error instanceof ShapeError)) throw error;
      return onUnreadable(error);
    });
  const found = ids
    ? (await Promise.all(ids.map(get))).filter((one) => one !== undefined)
    : await deadLetters.list(partnerAccount, onUnreadable);
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

/** Puts messages back into the queue, those of the given dead letters. @returns their IDs */
export async function redriveDeadLetters(
  { aside, queue, books }: Pick<Bridge, 'aside' | 'queue' | 'books'>,
  letters: readonly StoredDeadLetter[],
  onProgress?: OnProgress,
) {
  const messages = letters.flatMap(({ id, key, etag, letter: { message } }) =>
    message ? [{ id, key, etag, message }] : [],
  );
  const redriven: string[] = [];
  for (let from = 0; from < messages.length; from += atOnce) {
    const accepted = await putBack(messages.slice(from, from + atOnce), { queue, remove: aside.remove });
    if (books) {
      const counted = accepted.map(({ message }) => [message, { deadLettered: -1 }] as const);
      await countInBooks(books, counted);
    }
    redriven.push(...accepted.map(({ id }) => id));
    onProgress?.(Math.min(from + atOnce, messages.length), messages.length);
  }
  const sent = new Set(redriven);
  return {
    redriven,
    nothingToSend: letters.filter(({ letter }) => !letter.message).map(({ id }) => id),
    refused: messages.map(({ id }) => id).filter((id) => !sent.has(id)),
  };
}

/** Removes dead letters for good, unless they were stored again meanwhile. */
export async function dropDeadLetters(
  { deadLetters }: Pick<Bridge, 'deadLetters'>,
  letters: readonly StoredDeadLetter[],
  onProgress?: OnProgress,
): Promise<void> {
  for (let from = 0; from < letters.length; from += atOnce) {
    await deadLetters.drop(letters.slice(from, from + atOnce));
    onProgress?.(Math.min(from + atOnce, letters.length), letters.length);
  }
}
