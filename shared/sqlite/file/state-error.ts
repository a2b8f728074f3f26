export type StateErrorCode =
  | 'state-damaged'
  | 'state-not-writable'
  | 'state-in-use'
  | 'state-newer'
  | 'state-older'
  /** The file has an earlier version, or an unmerged log; opening it for writing brings it up to date. */
  | 'state-outdated'
  /** Another user has changed it, or could. */
  | 'state-unsafe';

/** The state of an embedded bridge cannot be used. Nothing was overwritten; the message says what to do. */
export class StateError extends Error {
  override readonly name = 'StateError';
  readonly code: StateErrorCode;

  constructor(code: StateErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

interface Kind {
  readonly code: StateErrorCode;
  readonly advice: string;
}

const damaged: Kind = {
  code: 'state-damaged',
  advice:
    'is damaged. Restore the folder from a backup, or move it away and connect the partner accounts again',
};
const notWritable: Kind = {
  code: 'state-not-writable',
  advice:
    'cannot be written. Check the permissions of the folder and its files, and the free space on the disk',
};
const inUse: Kind = {
  code: 'state-in-use',
  advice: 'is locked by another process. Try again when that process has ended',
};

/** By SQLite's primary result codes: https://sqlite.org/rescode.html */
const kinds: Readonly<Record<number, Kind>> = {
  3: notWritable, // PERM
  5: inUse, // BUSY
  6: inUse, // LOCKED
  8: notWritable, // READONLY
  10: notWritable, // IOERR
  11: damaged, // CORRUPT
  13: notWritable, // FULL
  14: notWritable, // CANTOPEN
  26: damaged, // NOTADB
};

/**
 * Converts an error of SQLite or the file system about `file` to a {@link StateError}; returns any other error
 * unchanged.
 */
export function asStateError(error: unknown, file: string): unknown {
  if (!(error instanceof Error) || error instanceof StateError) return error;
  const { errcode, errstr, syscall } = error as { errcode?: number; errstr?: string; syscall?: string };
  const kind = errcode === undefined ? syscall && notWritable : kinds[errcode & 0xff];
  if (!kind) return error;
  return new StateError(kind.code, `${file} ${kind.advice} (${errstr ?? error.message})`, { cause: error });
}

/** Runs `work` and converts its errors about `file` to {@link StateError}. */
export function guarded<T>(file: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw asStateError(error, file);
  }
}

/** Whether another process had the file locked for too long: SQLITE_BUSY, by its primary result code. */
export const isBusy = (error: unknown): boolean => ((error as { errcode?: number }).errcode ?? 0) % 256 === 5;
