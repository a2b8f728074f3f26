import { createHash } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { printableLine } from '../../domain/text/printable.ts';
import { migrations, schemaDigest } from './schema.ts';

interface Entry {
  readonly type: string;
  readonly name: string;
  readonly tbl_name: string;
  readonly sql: string | null;
}

/** What `ANALYZE` leaves runs nothing. */
const select = String.raw`SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\_stat_' ESCAPE '\'`;

/** Some files of version 3 have this index (schema.ts). */
const strays: Readonly<Record<number, string>> = {
  3: 'CREATE INDEX messages_of_group ON messages (group_key)',
};

const entriesOf = (db: DatabaseSync): Entry[] => db.prepare(select).all() as unknown as Entry[];

function expectedEntries(version: number): Entry[] {
  const db = new DatabaseSync(':memory:');
  try {
    for (const migration of migrations.slice(0, version)) db.exec(migration);
    return entriesOf(db);
  } finally {
    db.close();
  }
}

const digestOf = (entries: readonly Entry[]): string =>
  createHash('sha256').update(entries.map(keyOf).join('\n')).digest('base64url');

const keyOf = ({ type, name, tbl_name, sql }: Entry): string => JSON.stringify([type, name, tbl_name, sql]);

/** The digest of what all migrations make: {@link schemaDigest}. */
export const currentDigest = (): string => digestOf(expectedEntries(migrations.length));

/**
 * The first table, index, trigger or view of a state file that the migrations up to `version` have not made as it is, or
 * have made and that is not there. A trigger, a view, a generated column or a default of somebody else's would run SQL of
 * theirs with each statement of ours.
 *
 * @param version of the file, at most the latest
 * @returns such as `trigger copy_tokens`, printable; undefined when all of it is ours
 */
export function foreignEntry(db: DatabaseSync, version: number): string | undefined {
  const entries = entriesOf(db);
  // Of nearly every file; making the tables anew to compare with takes as long as opening the file.
  if (digestOf(entries) === schemaDigest) return undefined;
  const expected = new Map(expectedEntries(version).map((entry) => [keyOf(entry), entry]));
  for (const entry of entries) {
    const isOurs = expected.delete(keyOf(entry)) || (entry.sql !== null && entry.sql === strays[version]);
    if (!isOurs) return described(entry);
  }
  const [missing] = expected.values();
  return missing && `${described(missing)}, which is not there`;
}

const described = ({ type, name }: Entry): string => printableLine(`${type} ${name}`.slice(0, 100));
