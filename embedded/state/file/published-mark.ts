/**
 * The number of the latest published event, kept in a file beside the state. A state that ends at an earlier event is an
 * older copy: it would use sequence numbers again that subscribers already have, with other contents.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { markFileIn } from './private-folder.ts';

/** Number of the event in the log of the state, and when it was noted, ms since 1970. */
export type PublishedMark = Readonly<Record<'event' | 'at', number>>;

export function readMark(dir: string): PublishedMark | undefined {
  try {
    const { event, at } = JSON.parse(readFileSync(markFileIn(dir), 'utf8'));
    return Number.isSafeInteger(event) && Number.isFinite(at) ? { event, at } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Partner accounts that an older copy of the state would publish with sequence numbers that were used: none whose history
 * began after the mark was written. @param last number of the last event in the log of the state
 */
export function reusedHistories<T extends { readonly generation: number }>(
  { event, at }: PublishedMark,
  last: number,
  accounts: readonly T[],
): T[] {
  // A generation is the second in which it began.
  return last < event ? accounts.filter(({ generation }) => generation < Math.floor(at / 1000)) : [];
}

/**
 * Returns a function that writes the mark if there are new events. They are stored durably first: after a power cut, a
 * state without them would be taken for an older copy.
 */
export function markWriter(
  dir: string,
  { lastEvent, makeDurable }: { lastEvent(): number; makeDurable(): Promise<void> },
): () => Promise<void> {
  const file = markFileIn(dir);
  let written = readMark(dir)?.event;
  return async () => {
    try {
      const event = lastEvent();
      if (event === written) return;
      await makeDurable();
      // Renamed, so that a crash leaves the mark before.
      const mark: PublishedMark = { event, at: Date.now() };
      // Made anew: where others may write into the folder, a link of that name could lead to any file.
      rmSync(`${file}.next`, { force: true });
      writeFileSync(`${file}.next`, JSON.stringify(mark), { mode: 0o600, flag: 'wx' });
      renameSync(`${file}.next`, file);
      written = event;
    } catch {
      // The mark may be missing what was published since: on a full disk, the state is not written either.
    }
  };
}
