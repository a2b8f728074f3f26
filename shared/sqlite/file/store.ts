import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { createCommitPace } from './commit-pace.ts';
import { asStateError, guarded, StateError } from './state-error.ts';

export interface WriteOptions {
  /** Waits for the disk: for what a power cut must not take either. Default false. */
  readonly durable?: boolean;
  /** Under load waits for others to share a commit (commit-pace.ts): for what comes with every advert. Default false. */
  readonly patient?: boolean;
}

/** One connection to the state file. */
export interface Store {
  prepare(sql: string): StatementSync;
  /** @throws {StateError} */
  read<T>(query: () => T): T;
  /**
   * Runs `change` in a transaction with whatever else is to be written in the same turn of the event loop, or, where it is
   * `patient` and there is much to do, in the next 10 ms; resolves after the commit. A change that throws is undone and
   * rejects alone.
   *
   * @param change must be fit to run twice: it does when another one in its transaction fails
   * @throws {StateError}
   */
  write<T>(change: () => T, options?: WriteOptions): Promise<T>;
  /** Writes what waits, then closes the file. */
  close(): void;
}

interface Waiting {
  readonly change: () => unknown;
  readonly durable: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Waited for no longer: a transaction of so many is as cheap for each as a larger one. */
const maxTogether = 64;

type Outcome = { readonly value: unknown } | { readonly error: unknown };

/**
 * @param file its name, for messages
 * @param onFault told of each fault of the file itself, before whoever asked hears of it
 */
export function createStore(
  db: DatabaseSync,
  file: string,
  onFault: (fault: StateError) => void = () => undefined,
): Store {
  function told(error: unknown): unknown {
    const fault = asStateError(error, file);
    if (fault instanceof StateError) onFault(fault);
    return fault;
  }
  const begin = db.prepare('BEGIN IMMEDIATE');
  const commit = db.prepare('COMMIT');
  const rollback = db.prepare('ROLLBACK');
  const pace = createCommitPace();
  let waiting: Waiting[] = [];
  let timer: NodeJS.Timeout | undefined;
  let immediate: NodeJS.Immediate | undefined;

  function inTransaction(changes: readonly Waiting[]): unknown[] {
    if (changes.some(({ durable }) => durable)) db.exec('PRAGMA synchronous=FULL');
    begin.run();
    try {
      const values = changes.map(({ change }) => change());
      commit.run();
      return values;
    } catch (error) {
      // After some errors SQLite has rolled back by itself.
      if (db.isTransaction) rollback.run();
      throw error;
    } finally {
      if (changes.some(({ durable }) => durable)) db.exec('PRAGMA synchronous=NORMAL');
    }
  }

  function outcomesOf(changes: readonly Waiting[]): Outcome[] {
    try {
      return inTransaction(changes).map((value) => ({ value }));
    } catch (error) {
      const failed: Outcome = { error: told(error) };
      if (changes.length === 1 || isBusy(error)) return changes.map(() => failed);
      return changes.flatMap((change) => outcomesOf([change]));
    }
  }

  function flush(): void {
    const changes = waiting;
    waiting = [];
    clearTimeout(timer);
    clearImmediate(immediate);
    timer = immediate = undefined;
    if (changes.length === 0) return;
    pace.committed(changes.length);
    const outcomes = outcomesOf(changes);
    for (const [index, { resolve, reject }] of changes.entries()) {
      const outcome = outcomes[index] as Outcome;
      if ('error' in outcome) reject(outcome.error);
      else resolve(outcome.value);
    }
  }

  function afterAWhile(): void {
    const waitMs = pace.waitMs();
    if (waitMs === 0) atOnce();
    else timer = setTimeout(flush, waitMs);
  }

  function atOnce(): void {
    clearTimeout(timer);
    // Not a microtask: the answers that arrive in one turn of the event loop come in macrotasks of their own.
    immediate = setImmediate(flush);
  }

  return {
    prepare: (sql) => guarded(file, () => db.prepare(sql)),
    read<T>(query: () => T): T {
      try {
        return query();
      } catch (error) {
        throw told(error);
      }
    },
    write<T>(change: () => T, options: WriteOptions = {}): Promise<T> {
      const { durable = false, patient = false } = options;
      return new Promise<T>((resolve, reject) => {
        waiting.push({ change, durable, resolve: resolve as (value: unknown) => void, reject });
        if (immediate) return;
        if (!patient || waiting.length >= maxTogether) atOnce();
        else if (!timer) afterAWhile();
      });
    },
    close() {
      flush();
      db.close();
    },
  };
}

// Each of the others would only wait as long for the same lock.
const isBusy = (error: unknown): boolean => ((error as { errcode?: number }).errcode ?? 0) % 256 === 5;
