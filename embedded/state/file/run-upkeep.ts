import type { Clock } from '../../../shared/domain/clock.ts';
import { type Loop, startLoop } from '../../../shared/domain/loop.ts';
import { identityOf, lockFileIn, stateFileIn } from './private-folder.ts';
import type { RunLock } from './run-lock.ts';
import { StateError } from './state-error.ts';

/** What is published in this time may be missing in the mark. */
const turnMs = 1_000;

export interface Upkeep extends Pick<RunLock, 'beat'> {
  readonly dir: string;
  readonly clock: Clock;
  /** Writes the mark (published-mark.ts); a dry run has none. */
  readonly mark: (() => Promise<void>) | undefined;
  /**
   * Called when the folder is no longer the one that the run has opened (SQLite goes on writing to deleted files), or
   * another run uses it too.
   */
  readonly onLost: (fault: StateError) => void;
}

/** What a run does with its folder each second, and once more at its end. The caller has the run lock. */
export function startUpkeep({ dir, clock, beat, mark, onLost }: Upkeep): Loop {
  const file = stateFileIn(dir);
  // Without the lock file, another run could begin.
  const look = () => identityOf(dir, [file, `${file}-wal`, lockFileIn(dir)]);
  const opened = look();
  return startLoop(clock, async (stopping) => {
    const fault =
      look() === opened
        ? beat(clock.now())
        : new StateError('state-replaced', replaced(file), { mend: findOut });
    if (fault) {
      onLost(fault);
      return undefined;
    }
    await mark?.();
    return stopping.aborted ? undefined : turnMs;
  });
}

const replaced = (file: string): string =>
  `${file}, or a file beside it, was deleted or replaced during this run, so the run ended: what it did since then is ` +
  'not stored';
const findOut = 'Find out by whom. If the state is lost, restore it (docs/operate/backup.md)';
