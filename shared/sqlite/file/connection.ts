import type { DatabaseSync } from 'node:sqlite';
import { guarded, StateError } from './state-error.ts';

export interface WriteOptions {
  /** Waits for the disk, for data that must survive even a power cut. Default false. */
  readonly durable?: boolean;
}

interface Write extends WriteOptions {
  readonly change: () => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

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
  let scheduled: NodeJS.Immediate | undefined;
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

  /** If a group fails, each of its changes is tried alone, unless the file is locked, which would affect all of them. */
  function settle(group: readonly Write[]): void {
    try {
      const values = guarded(file, () => inTransaction(group), onFault);
      for (const [index, { resolve }] of group.entries()) resolve(values[index]);
    } catch (fault) {
      const isLocked = fault instanceof StateError && fault.code === 'state-in-use';
      if (group.length === 1 || isLocked) for (const { reject } of group) reject(fault);
      else for (const write of group) settle([write]);
    }
  }

  function flush(): void {
    const group = writes;
    writes = [];
    clearImmediate(scheduled);
    scheduled = undefined;
    if (group.length > 0) settle(group);
  }

  return {
    prepare: (sql: string) => guarded(file, () => db.prepare(sql)),
    read: <T>(query: () => T): T => guarded(file, query, onFault),
    /**
     * Runs `change` in the next transaction; resolves after its commit. If a change throws, only that change is undone
     * and rejects; the others of its transaction run twice.
     */
    write: <T>(change: () => T, options: WriteOptions = {}): Promise<T> =>
      new Promise<T>((resolve, reject) => {
        writes.push({ change, ...options, resolve: resolve as (value: unknown) => void, reject });
        // Not a microtask, because answers that arrive in one turn of the event loop are separate macrotasks.
        scheduled ??= setImmediate(flush);
      }),
    /** Commits pending changes, then closes the file. */
    close(): void {
      flush();
      db.close();
    },
  };
}
