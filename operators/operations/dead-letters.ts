import type { ShapeError } from '../../shared/contract/checks.ts';
import type { StoredDeadLetter } from '../../shared/state/dead-letters.ts';
import type { Bridge } from './bridge.ts';
import { requireKnown } from './errors.ts';
import type { DeadLetterGroup, PrintedDeadLetter } from './printed.ts';

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

/** As printed in JSON. */
export const shownDeadLetter = ({ key: _, etag: __, ...shown }: StoredDeadLetter): PrintedDeadLetter => shown;

export interface DeadLetterList {
  /** Oldest first. */
  readonly deadLetters: readonly StoredDeadLetter[];
  readonly groups: readonly DeadLetterGroup[];
  readonly unreadable: readonly string[];
  /** The given IDs that no dead letter has. */
  readonly unknown: readonly string[];
}

/** @throws {UsageError} for an account that neither the bridge nor a dead letter knows: they outlive a forgotten account */
export async function listDeadLetters(
  bridge: Pick<Bridge, 'deadLetters' | 'partnerAccounts'>,
  { ids, partnerAccount, fault, before }: DeadLetterFilter,
): Promise<DeadLetterList> {
  const unreadable: string[] = [];
  const onUnreadable = ({ message }: ShapeError) => void unreadable.push(message);
  const lists = (ids ?? [partnerAccount]).map((of) => bridge.deadLetters.list(of, onUnreadable));
  const found = (await Promise.all(lists)).flat();
  if (found.length + unreadable.length === 0) await requireKnown(bridge.partnerAccounts, partnerAccount);
  const beforeMs = before === undefined ? Number.POSITIVE_INFINITY : Date.parse(before);
  const deadLetters = found
    .filter((one) => (fault === undefined || one.fault === fault) && Date.parse(one.at) < beforeMs)
    .sort((x, y) => Date.parse(x.at) - Date.parse(y.at));
  const listed = new Set(deadLetters.map(({ id }) => id));
  return {
    deadLetters,
    groups: groupsOf(deadLetters),
    unreadable,
    unknown: (ids ?? []).filter((id) => !listed.has(id)),
  };
}

/** By partner account, fault and reason; the largest group first. */
function groupsOf(deadLetters: readonly StoredDeadLetter[]): DeadLetterGroup[] {
  const groups = Map.groupBy(deadLetters, ({ partnerAccount, fault, reason }) =>
    JSON.stringify([partnerAccount, fault, reason]),
  );
  return [...groups.values()]
    .map((group) => {
      const { partnerAccount, fault, reason, at: from } = group[0] as StoredDeadLetter;
      const adverts = new Set(group.map(({ advertId }) => advertId)).size;
      const [count, to] = [group.length, group.at(-1)?.at ?? from];
      return { count, adverts, partnerAccount, fault, from, to, reason };
    })
    .sort((a, b) => b.count - a.count);
}

/** Has the drain put the messages of the given dead letters back into the queue. @returns their IDs */
export async function redriveDeadLetters(
  { deadLetters }: Pick<Bridge, 'deadLetters'>,
  chosen: readonly StoredDeadLetter[],
  onProgress?: OnProgress,
) {
  const sendable = chosen.flatMap(({ message, ...one }) => (message ? [{ ...one, message }] : []));
  await inSteps(sendable, deadLetters.redrive, onProgress);
  return {
    redriven: sendable.map(({ id }) => id),
    nothingToSend: chosen.filter(({ message }) => !message).map(({ id }) => id),
  };
}

/** Removes dead letters for good, unless they were stored again; the drain logs by whom. @returns by whom */
export async function dropDeadLetters(
  { deadLetters, who, newId }: Pick<Bridge, 'deadLetters' | 'who' | 'newId'>,
  chosen: readonly StoredDeadLetter[],
  onProgress?: OnProgress,
): Promise<string> {
  const by = await who();
  const drop = async (some: StoredDeadLetter[]) => {
    await deadLetters.note(newId(), { by, groups: groupsOf(some) });
    await deadLetters.drop(some);
  };
  await inSteps(chosen, drop, onProgress);
  return by;
}

async function inSteps<T>(
  all: readonly T[],
  act: (some: T[]) => Promise<void>,
  onProgress?: OnProgress,
): Promise<void> {
  for (let from = 0; from < all.length; from += atOnce) {
    await act(all.slice(from, from + atOnce));
    onProgress?.(Math.min(from + atOnce, all.length), all.length);
  }
}
