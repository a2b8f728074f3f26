import { DatabaseSync } from 'node:sqlite';
import { printableLine } from '../../domain/text/printable.ts';
import { migrations, refusedVersion } from './schema.ts';

interface Entry {
  readonly type: string;
  readonly name: string;
  readonly tbl_name: string;
  readonly sql: string | null;
}

/** Ignores the tables of `ANALYZE`, which cannot execute anything. */
const selectEntries = String.raw`SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\_stat_' ESCAPE '\'`;

const entriesOf = (db: DatabaseSync): Entry[] => db.prepare(selectEntries).all() as unknown as Entry[];

function expectedEntries(version: number, steps: readonly string[]): Entry[] {
  const db = new DatabaseSync(':memory:');
  try {
    for (const step of steps.slice(0, version - refusedVersion)) db.exec(step);
    return entriesOf(db);
  } finally {
    db.close();
  }
}

const keyOf = ({ type, name, tbl_name, sql }: Entry): string => JSON.stringify([type, name, tbl_name, sql]);

/**
 * Finds the first table, index, trigger or view of a state file that differs from the result of the migrations, or that
 * is missing. SQLite would execute a foreign trigger, view, generated column or default as part of our own statements.
 *
 * @param version version of the file, at most the latest one
 * @returns a printable name such as `trigger copy_tokens`; undefined when there is no difference
 */
export function foreignEntry(db: DatabaseSync, version: number, steps = migrations): string | undefined {
  const expected = new Map(expectedEntries(version, steps).map((entry) => [keyOf(entry), entry]));
  for (const entry of entriesOf(db)) {
    if (!expected.delete(keyOf(entry))) return described(entry);
  }
  const [missing] = expected.values();
  return missing && `${described(missing)}, which is missing`;
}

const described = ({ type, name }: Entry): string => printableLine(`${type} ${name}`.slice(0, 100));
