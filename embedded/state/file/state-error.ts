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
  'state-in-use': [
    'is locked by another process',
    'Try again when that process has ended. If there is none, its file system has no file locks: choose a folder on a local disk',
  ],
  'state-not-local': [
    'cannot be used, because its file system has no file locks or no shared memory',
    'Choose a folder on a local disk',
  ],
} as const;

/** By SQLite's result codes, the primary ones and some extended ones: https://sqlite.org/rescode.html */
const codes: Readonly<Record<number, keyof typeof advice>> = {
  3: 'state-not-writable', // PERM
  5: 'state-in-use', // BUSY
  6: 'state-in-use', // LOCKED
  8: 'state-not-writable', // READONLY
  10: 'state-not-writable', // IOERR
  11: 'state-damaged', // CORRUPT
  13: 'state-full',
  14: 'state-not-writable', // CANTOPEN
  15: 'state-not-local', // PROTOCOL
  26: 'state-damaged', // NOTADB
  2314: 'state-not-local', // IOERR_RDLOCK
  3594: 'state-not-local', // IOERR_CHECKRESERVEDLOCK
  3850: 'state-not-local', // IOERR_LOCK
  4874: 'state-full', // IOERR_SHMSIZE: the index of the log could not grow.
  5130: 'state-not-local', // IOERR_SHMLOCK
  5386: 'state-not-local', // IOERR_SHMMAP
};

/** Returns an error that is not of SQLite or the file system unchanged. */
function asStateError(error: unknown, file: string): unknown {
  if (!(error instanceof Error) || error instanceof StateError) return error;
  const { errcode, errstr, syscall } = error as { errcode?: number; errstr?: string; syscall?: string };
  const ofSystem = (error as { code?: string }).code === 'ENOSPC' ? 'state-full' : 'state-not-writable';
  const code = errcode === undefined ? syscall && ofSystem : (codes[errcode] ?? codes[errcode & 0xff]);
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
