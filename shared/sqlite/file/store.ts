import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { asStateError, guarded, isBusy, StateError } from './state-error.ts';

export interface WriteOptions {
  /** Waits for the disk: for what must survive a power cut, too. Default false. */
  readonly durable?: boolean;
}

/**
 * One connection to the state file, and the only way to write to it.
 *
 * What is asked for in one turn of the event loop is committed as one transaction, for a commit costs as much as several
 * changes. A commit is a write to the operating system (`synchronous=NORMAL` with a write-ahead log): it survives the
 * death of the process, kill -9 included. After a power cut the file is whole but may lack the last moments; where that
 * must not happen, a write is `durable`.
 *
 * @see https://sqlite.org/pragma.html#pragma_synchronous
 */
export interface Store {
  prepare(sql: string): StatementSync;
  /** @throws {StateError} */
  read<T>(query: () => T): T;
  /**
   * Runs `change` in the next transaction; resolves after its commit. A change that throws is undone and rejects alone.
   *
   * @param change may be run twice: it is when another change in its transaction fails
   * @throws {StateError}
   */
  write<T>(change: () => T, options?: WriteOptions): Promise<T>;
  /** Commits what was asked for, then closes the file. */
  close(): void;
}

interface Write {
  readonly change: () => unknown;
  readonly durable: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

type Outcome = { readonly value: unknown } | { readonly error: unknown };

/**
 * @param file its name, for messages
 * @param onFault called with each fault of the file itself, before the caller gets it
 */
export function createStore(
  db: DatabaseSync,
  file: string,
  onFault: (fault: StateError) => void = () => undefined,
): Store {
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const rollback = db.prepare('ROLLBACK');
  let writes: Write[] = [];
  let scheduled: NodeJS.Immediate | undefined;

  function reported(error: unknown): unknown {
    const fault = asStateError(error, file);
    if (fault instanceof StateError) onFault(fault);
    return fault;
  }

  function inTransaction(group: readonly Write[]): unknown[] {
    const isDurable = group.some(({ durable }) => durable);
    if (isDurable) db.exec('PRAGMA synchronous=FULL');
    begin.run();
    try {
      const values = group.map(({ change }) => change());
      commit.run();
      return values;
    } catch (error) {
      // After some errors SQLite has already rolled back.
      if (db.isTransaction) rollback.run();
      throw error;
    } finally {
      if (isDurable) db.exec('PRAGMA synchronous=NORMAL');
    }
  }

  /** Where a group fails, each of its changes is tried alone; but not when the file is locked, which would meet all. */
  function outcomesOf(group: readonly Write[]): Outcome[] {
    try {
      return inTransaction(group).map((value) => ({ value }));
    } catch (error) {
      const failed: Outcome = { error: reported(error) };
      if (group.length === 1 || isBusy(error)) return group.map(() => failed);
      return group.flatMap((write) => outcomesOf([write]));
    }
  }

  function flush(): void {
    const group = writes;
    writes = [];
    clearImmediate(scheduled);
    scheduled = undefined;
    if (group.length === 0) return;
    const outcomes = outcomesOf(group);
    for (const [index, { resolve, reject }] of group.entries()) {
      const outcome = outcomes[index] as Outcome;
      if ('error' in outcome) reject(outcome.error);
      else resolve(outcome.value);
    }
  }

  return {
    prepare: (sql) => guarded(file, () => db.prepare(sql)),
    read<T>(query: () => T): T {
      try {
        return query();
      } catch (error) {
        throw reported(error);
      }
    },
    write<T>(change: () => T, { durable = false }: WriteOptions = {}): Promise<T> {
      return new Promise<T>((resolve, reject) => {
        writes.push({ change, durable, resolve: resolve as (value: unknown) => void, reject });
        // Not a microtask, for answers that arrive in one turn of the event loop are separate macrotasks.
        scheduled ??= setImmediate(flush);
      });
    },
    close() {
      flush();
      db.close();
    },
  };
}
