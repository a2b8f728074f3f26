import { ShapeError } from '../shared/contract/checks.ts';
import { putBack, type StoredDeadLetter } from '../shared/state/aside.ts';
import type { Bridge } from './bridge.ts';

/** Selects dead letters: those that match all that is given. */
export interface DeadLetterFilter {
  readonly ids?: readonly string[];
  readonly partnerAccount?: string;
  readonly fault?: string;
  /** Given up before this time, ms since 1970. */
  readonly before?: number;
}

export interface DeadLetterList {
  /** Oldest first. */
  readonly letters: readonly StoredDeadLetter[];
  readonly unreadable: readonly string[];
}

/** Dead letters of one account that have the same fault and reason. */
export interface DeadLetterGroup {
  readonly partnerAccount: string | null;
  readonly fault: string;
  readonly reason: string;
  readonly count: number;
  readonly from: string;
  readonly to: string;
}

export interface RedriveResult {
  readonly redriven: readonly string[];
  readonly nothingToSend: readonly string[];
  readonly refused: readonly string[];
}

type DeadLetterPorts = Pick<Bridge, 'deadLetters' | 'aside' | 'queue' | 'booksWriter'>;

/** A crash in between puts at most these back twice. */
const atOnce = 250;

type OnProgress = (done: number, all: number) => void;

export async function listDeadLetters(
  { deadLetters }: Pick<Bridge, 'deadLetters'>,
  { ids, partnerAccount, fault, before = Number.POSITIVE_INFINITY }: DeadLetterFilter,
): Promise<DeadLetterList> {
  const unreadable: string[] = [];
  const onUnreadable = ({ message }: ShapeError) => void unreadable.push(message);
  const readable = (id: string) =>
    deadLetters.get(id).catch((error: unknown) => {
      if (!(error instanceof ShapeError)) throw error;
      onUnreadable(error);
      return undefined;
    });
  const found = ids
    ? await Promise.all(ids.map(readable))
    : await deadLetters.list(partnerAccount, onUnreadable);
  const letters = found
    .filter((one) => one !== undefined)
    .filter(({ letter }) => fault === undefined || letter.fault === fault)
    .filter(({ letter }) => Date.parse(letter.at) < before)
    .sort((x, y) => Date.parse(x.letter.at) - Date.parse(y.letter.at));
  return { letters, unreadable };
}

/** By partner account, fault and reason; the largest group first. */
export function groupsOf(letters: readonly StoredDeadLetter[]): DeadLetterGroup[] {
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

export async function redriveDeadLetters(
  { deadLetters, aside, queue, booksWriter }: DeadLetterPorts,
  filter: DeadLetterFilter,
  onProgress?: OnProgress,
): Promise<RedriveResult> {
  const { letters } = await listDeadLetters({ deadLetters }, filter);
  const messages = letters.flatMap(({ id, key, etag, letter: { message } }) =>
    message ? [{ id, key, etag, message }] : [],
  );
  const redriven: string[] = [];
  for (let from = 0; from < messages.length; from += atOnce) {
    const accepted = await putBack(messages.slice(from, from + atOnce), { queue, remove: aside.remove });
    const counts = Object.groupBy(accepted, ({ message: { partnerAccount, generation } }) =>
      JSON.stringify([partnerAccount, generation]),
    );
    for (const [owner, { length } = []] of Object.entries(counts)) {
      const [partnerAccount, generation] = JSON.parse(owner);
      await booksWriter?.add(partnerAccount, generation, { deadLettered: -length });
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

/** Removes dead letters for good. @returns their IDs */
export async function dropDeadLetters(
  { deadLetters }: Pick<Bridge, 'deadLetters'>,
  filter: DeadLetterFilter,
  onProgress?: OnProgress,
): Promise<readonly string[]> {
  const { letters } = await listDeadLetters({ deadLetters }, filter);
  for (let from = 0; from < letters.length; from += atOnce) {
    await deadLetters.drop(letters.slice(from, from + atOnce));
    onProgress?.(Math.min(from + atOnce, letters.length), letters.length);
  }
  return letters.map(({ id }) => id);
}

/** Removes the dead letters of an account whose histories up to this generation are removed. */
export async function forgetDeadLetters(
  { deadLetters }: Pick<Bridge, 'deadLetters'>,
  partnerAccount: string,
  generation: number,
): Promise<void> {
  const { letters } = await listDeadLetters({ deadLetters }, { partnerAccount });
  await deadLetters.drop(letters.filter(({ letter }) => (letter.message?.generation ?? 0) <= generation));
}
