import type { DatabaseSync } from 'node:sqlite';
import { guarded, StateError } from './state-error.ts';

export interface WriteOptions {
  /** Waits for the disk, for data that must survive even a power cut. Default false. */
  readonly durable?: boolean;
  /** Waits for room on a full disk, in a process that does so. Default true. */
  readonly waits?: boolean;
}

export interface RoomOptions {
  /** Once it is aborted, writes fail while the disk is full. */
  readonly stopped: AbortSignal;
  readonly onChange: (isFull: boolean) => void;
}

interface Write extends WriteOptions {
  readonly change: () => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** How often to try whether a full disk has room again. */
const roomLookMs = 1_000;

export type Connection = ReturnType<typeof createConnection>;

/**
 * The connection to the state file. All writes go through it: those of one turn of the event loop are one transaction,
 * because a commit costs as much as several changes. A commit survives a crash of the process, including kill -9. After a
 * power cut the file is consistent, but the last commits may be missing, unless they were `durable`.
 *
 * @param onFault called with each fault of the file, before the caller receives it
 * @see https://sqlite.org/pragma.html#pragma_synchronous
 */
export function createConnection(db: DatabaseSync, file: string, onFault?: (fault: StateError) => void) {
  let writes: Write[] = [];
  let unschedule: (() => void) | undefined;
  let room: RoomOptions | undefined;
  let fullSince: number | undefined;
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');

  function inTransaction(group: readonly Write[]): unknown[] {
    const isDurable = group.some(({ durable }) => durable);
    if (isDurable) db.exec('PRAGMA synchronous=FULL');
    begin.run();
    try {
      const values = group.map(({ change }) => change());
      commit.run();
      return values;
    } catch (error) {
      try {
        db.exec('ROLLBACK');
      } catch {
        // After some errors SQLite has already rolled back.
      }
      throw error;
    } finally {
      if (isDurable) db.exec('PRAGMA synchronous=NORMAL');
    }
  }

  const isHeld = ({ code }: StateError): boolean => code === 'state-full' && room?.stopped.aborted === false;
  const report = (fault: StateError): void => void (isHeld(fault) || onFault?.(fault));

  function note(isFull: boolean): void {
    if (isFull === (fullSince !== undefined) || room?.stopped.aborted) return;
    fullSince = isFull ? Date.now() : undefined;
    room?.onChange(isFull);
  }

  /** Tries again after a while, in the same order. */
  function hold(group: readonly Write[], fault: StateError): void {
    for (const write of group) {
      if (write.waits === false) write.reject(fault);
      else writes.push(write);
    }
    if (writes.length === 0) return;
    note(true);
    if (unschedule) return;
    const timer = setTimeout(flush, roomLookMs);
    unschedule = () => clearTimeout(timer);
  }

  /** If a group fails, each of its changes is tried alone, unless the file is locked, which would affect all of them. */
  function settle(group: readonly Write[]): void {
    try {
      const values = guarded(file, () => inTransaction(group), report);
      note(false);
      for (const [index, { resolve }] of group.entries()) resolve(values[index]);
    } catch (fault) {
      const isLocked = fault instanceof StateError && fault.code === 'state-in-use';
      if (fault instanceof StateError && isHeld(fault)) hold(group, fault);
      else if (group.length === 1 || isLocked) for (const { reject } of group) reject(fault);
      else for (const write of group) settle([write]);
    }
  }

  function flush(): void {
    const group = writes;
    writes = [];
    unschedule?.();
    unschedule = undefined;
    if (group.length > 0) settle(group);
  }

  return {
    prepare: (sql: string) => guarded(file, () => db.prepare(sql)),
    read: <T>(query: () => T): T => guarded(file, query, report),
    /**
     * Runs `change` in the next transaction; resolves after its commit. If a change throws, only that change is undone
     * and rejects; the others of its transaction run twice.
     */
    write: <T>(change: () => T, options: WriteOptions = {}): Promise<T> =>
      new Promise<T>((resolve, reject) => {
        writes.push({ change, ...options, resolve: resolve as (value: unknown) => void, reject });
        // Not a microtask, because answers that arrive in one turn of the event loop are separate macrotasks.
        if (unschedule) return;
        const turn = setImmediate(flush);
        unschedule = () => clearImmediate(turn);
      }),
    /** From now on, writes wait while the disk is full, and do not fail. */
    waitForRoom(options: RoomOptions): void {
      room = options;
      options.stopped.addEventListener('abort', flush, { once: true });
    },
    /** Since when writes wait for room on a full disk, ms since 1970; undefined if they do not. */
    fullSince: () => fullSince,
    /** Commits pending changes, then closes the file. */
    close(): void {
      room = undefined;
      flush();
      db.close();
    },
  };
}
