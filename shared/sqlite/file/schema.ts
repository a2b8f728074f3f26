/** Tells our file from any other SQLite file: "AdBr". */
export const applicationId = 0x41644272;

/**
 * Histories have a row ID and a separate index, for their rows are long: without a row ID they would lie in the index
 * itself, few to a page.
 */
const firstSchema = `
CREATE TABLE documents (
  name TEXT PRIMARY KEY,
  text TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE partner_accounts (
  name TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  account TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE token_pairs (
  version INTEGER PRIMARY KEY AUTOINCREMENT,
  partner_account TEXT NOT NULL UNIQUE,
  pair TEXT NOT NULL
) STRICT;

CREATE TABLE feeds (
  partner_account TEXT NOT NULL,
  feed TEXT NOT NULL,
  generation INTEGER NOT NULL,
  state TEXT NOT NULL,
  fence INTEGER NOT NULL,
  holder TEXT,
  leased_until INTEGER,
  PRIMARY KEY (partner_account, feed)
) STRICT, WITHOUT ROWID;

CREATE TABLE books (
  partner_account TEXT NOT NULL,
  generation INTEGER NOT NULL,
  listed INTEGER NOT NULL,
  events INTEGER NOT NULL,
  unchanged INTEGER NOT NULL,
  coalesced INTEGER NOT NULL,
  unavailable INTEGER NOT NULL,
  dead_lettered INTEGER NOT NULL,
  in_flight INTEGER NOT NULL,
  PRIMARY KEY (partner_account, generation)
) STRICT, WITHOUT ROWID;

CREATE TABLE messages (
  sequence_number INTEGER PRIMARY KEY AUTOINCREMENT,
  group_key TEXT NOT NULL,
  partner_account TEXT NOT NULL,
  generation INTEGER NOT NULL,
  body TEXT NOT NULL,
  sent_at INTEGER NOT NULL,
  receives INTEGER NOT NULL,
  place INTEGER NOT NULL,
  visible_at INTEGER
) STRICT;
CREATE INDEX messages_first ON messages (place) WHERE place = 0;
CREATE INDEX messages_of_group ON messages (group_key, place);
CREATE INDEX messages_due ON messages (visible_at) WHERE visible_at IS NOT NULL;

CREATE TABLE sent_keys (
  key TEXT PRIMARY KEY,
  sent_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX sent_keys_by_age ON sent_keys (sent_at);

CREATE TABLE dead_letters (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  partner_account TEXT NOT NULL,
  generation INTEGER NOT NULL,
  letter TEXT NOT NULL
) STRICT;
CREATE INDEX dead_letters_of_account ON dead_letters (partner_account);

CREATE TABLE advert_histories (
  id INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  version INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  status TEXT,
  envelope TEXT,
  written_by TEXT,
  position TEXT NOT NULL,
  owed INTEGER NOT NULL,
  tries INTEGER,
  missing_since INTEGER
) STRICT;
`;

/**
 * Events that wait for a webhook. Of the events of one subject (an advert, or a partner account) the oldest alone stands
 * at the head, and only heads are sent. `webhooks` holds each one's secret, and what was given up for its age.
 */
const outboxSchema = `
CREATE TABLE webhooks (
  url TEXT PRIMARY KEY,
  secret TEXT,
  given_up INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE outbox (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  webhook TEXT NOT NULL,
  subject TEXT NOT NULL,
  event_id TEXT NOT NULL,
  envelope TEXT NOT NULL,
  accepted_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  due_at INTEGER NOT NULL,
  head INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX outbox_of_event ON outbox (webhook, event_id);
CREATE INDEX outbox_of_subject ON outbox (webhook, subject, number);
CREATE INDEX outbox_due ON outbox (webhook, due_at) WHERE head = 1;
CREATE INDEX outbox_by_age ON outbox (webhook, accepted_at);
`;

/**
 * The order of the queue is kept in memory (queue.ts): its rows need no index and no place in line. What somebody had in
 * hand is free now.
 */
const leanQueue = `
DROP INDEX messages_first;
DROP INDEX messages_of_group;
DROP INDEX messages_due;
UPDATE messages SET visible_at = NULL WHERE place = 2;
ALTER TABLE messages DROP COLUMN place;
`;

/** What waits for one another is told by the messages themselves (queue.ts). Some files of version 3 had an index of it. */
const leanerQueue = `
DROP INDEX IF EXISTS messages_of_group;
ALTER TABLE messages DROP COLUMN group_key;
`;

/** Messages that wait outside the queue for a person or the end of a pause, each under the number it had there. */
const parkedSchema = `
CREATE TABLE parked (
  sequence_number INTEGER PRIMARY KEY,
  partner_account TEXT NOT NULL,
  generation INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;
CREATE INDEX parked_of_account ON parked (partner_account, sequence_number);
`;

/** What brings the file from each version to the next: the first makes an empty file a state. */
export const migrations: readonly string[] = [
  firstSchema,
  outboxSchema,
  leanQueue,
  leanerQueue,
  parkedSchema,
];

/** Version of the tables; stands in the file as `user_version`. */
export const schemaVersion = migrations.length;

/**
 * Digest of the tables of that version, so that a file is known by it at once (foreign-schema.ts). A test says what it has
 * to be after a new migration.
 */
export const schemaDigest = 'cdPtm-1kJzxZta0CzCzIz6YV4Ft2r7ovupUbGIV193o';
