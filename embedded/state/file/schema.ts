import type { DatabaseSync } from 'node:sqlite';

/** Identifies our file among SQLite files: "AdBr". @see https://sqlite.org/pragma.html#pragma_application_id */
export const applicationId = 0x41644272;

const firstSchema = `
-- The queue. Its order and what a worker has in hand are kept in memory, so its rows need no index.
-- visible_at: when a message that was put off may be handed out again; NULL for all others.
CREATE TABLE messages (
  sequence_number INTEGER PRIMARY KEY AUTOINCREMENT,
  partner_account TEXT NOT NULL,
  generation INTEGER NOT NULL,
  body TEXT NOT NULL,
  sent_at INTEGER NOT NULL,
  receives INTEGER NOT NULL,
  visible_at INTEGER
) STRICT;

-- The event log (embedded/state/event-log.ts). reader: the only reader of an event that is not for all.
CREATE TABLE events (
  number INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  envelope TEXT NOT NULL,
  reader TEXT
) STRICT;

-- Events that a webhook did not take, and those that follow such an event of the same subject.
CREATE TABLE unsent (
  webhook TEXT NOT NULL,
  number INTEGER NOT NULL,
  subject TEXT NOT NULL,
  envelope TEXT NOT NULL,
  at INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  PRIMARY KEY (webhook, number)
) STRICT;
CREATE INDEX unsent_of_subject ON unsent (webhook, subject, number);
CREATE INDEX unsent_due ON unsent (webhook, due_at, number);

-- The rows of embedded/state/store.ts. They are long: WITHOUT ROWID would store them in the index of the key, few to a page.
CREATE TABLE rows (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  etag TEXT NOT NULL,
  value TEXT NOT NULL,
  UNIQUE (kind, name)
) STRICT;
`;

/**
 * Migrations from each version to the next; the first entry creates the tables in an empty file. A released entry never
 * changes; a change of the tables is a new entry.
 */
const migrations: readonly string[] = [firstSchema];

/** Versions up to this one are of Advert Bridge 0.1 and 0.2, which nobody has to read: their files are refused. */
export const refusedVersion = 2;
export const latestVersion = refusedVersion + migrations.length;

/** The version of the tables in a file; 0 in an empty one. */
export const versionOf = (db: DatabaseSync): number =>
  (db.prepare('PRAGMA user_version').get() as { user_version: number }).user_version;

/** Brings the tables up to date, in one transaction; several processes may do so at once. */
export function migrate(db: DatabaseSync, steps = migrations): void {
  const latest = refusedVersion + steps.length;
  if (versionOf(db) === latest) return;
  db.exec('BEGIN IMMEDIATE');
  // Read again within the transaction, because another process may have migrated first.
  for (const step of steps.slice(Math.max(0, versionOf(db) - refusedVersion))) db.exec(step);
  db.exec(`PRAGMA application_id=${applicationId}; PRAGMA user_version=${latest};`);
  db.exec('COMMIT');
}
