export type StateErrorCode =
  | keyof typeof advice
  | 'state-newer'
  | 'state-older'
  /** The file has an earlier version, or an unmerged log; opening it for writing brings it up to date. */
  | 'state-outdated'
  /** The files were deleted or replaced while a run used them. */
  | 'state-replaced'
  /** Another user has changed it, or could. */
  | 'state-unsafe';

/** The state of an embedded bridge cannot be used. Nothing was overwritten. */
export class StateError extends Error {
  override readonly name = 'StateError';
  readonly code: StateErrorCode;
  readonly says: string;
  /** What to do. */
  readonly mend: string;

  constructor(code: StateErrorCode, says: string, { mend, cause }: { readonly mend: string } & ErrorOptions) {
    super(`${says}. ${mend}`, { cause });
    this.code = code;
    this.says = says;
    this.mend = mend;
  }
}

const advice = {
  'state-damaged': [
    'is damaged',
    'Restore the folder from a backup (docs/operate/backup.md), or move it away and connect the partner accounts again',
  ],
  'state-not-writable': [
    'cannot be written',
    'Check the permissions of the folder and its files, and the free space on the disk',
  ],
  'state-full': ['cannot be written, because its disk is full', 'Make free space on it'],
  'state-in-use': ['is locked by another process', 'Try again when that process has ended'],
} as const;

/** By SQLite's primary result codes: https://sqlite.org/rescode.html */
const codes: Readonly<Record<number, keyof typeof advice>> = {
  3: 'state-not-writable', // PERM
  5: 'state-in-use', // BUSY
  6: 'state-in-use', // LOCKED
  8: 'state-not-writable', // READONLY
  10: 'state-not-writable', // IOERR
  11: 'state-damaged', // CORRUPT
  13: 'state-full',
  14: 'state-not-writable', // CANTOPEN
  26: 'state-damaged', // NOTADB
};

/** SQLITE_IOERR_SHMSIZE: the index of the log could not grow. */
const noRoomForIndex = 4874;

/** Returns an error that is not of SQLite or the file system unchanged. */
function asStateError(error: unknown, file: string): unknown {
  if (!(error instanceof Error) || error instanceof StateError) return error;
  const { errcode, errstr, syscall } = error as { errcode?: number; errstr?: string; syscall?: string };
  const isFull = errcode === noRoomForIndex || (error as { code?: string }).code === 'ENOSPC';
  const ofKind = errcode === undefined ? syscall && 'state-not-writable' : codes[errcode & 0xff];
  const code = isFull ? 'state-full' : ofKind;
  if (!code) return error;
  const [says, mend] = advice[code];
  return new StateError(code, `${file} ${says} (${errstr ?? error.message})`, { mend, cause: error });
}

/** Runs `work` and converts its errors about `file` to {@link StateError}. @param onFault called with each of these */
export function guarded<T>(file: string, work: () => T, onFault?: (fault: StateError) => void): T {
  try {
    return work();
  } catch (error) {
    const fault = asStateError(error, file);
    if (fault instanceof StateError) onFault?.(fault);
    throw fault;
  }
}

/** Whether another process had the file locked for too long: SQLITE_BUSY, by its primary result code. */
export const isBusy = (error: unknown): boolean => ((error as { errcode?: number }).errcode ?? 0) % 256 === 5;
