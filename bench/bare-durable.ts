/**
 * The minimum cost of durability: the minimal program, extended by SQLite. It stores each listed ID until its advert is
 * settled, looks up the advert's row, records its event, and prints the event after the commit. All writes within 10
 * ms share a commit. It has no validation, retries, rate limit or books, and cannot resume after a crash.
 *
 * Usage: bare-durable.ts URL CONCURRENCY SINCE FILE
 */
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeBareRequests } from './bare-requests.ts';

const commitMs = 10;
const db = new DatabaseSync(process.argv[5] ?? '');
db.exec(`
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE messages (sequence_number INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT NOT NULL, sent_at INTEGER NOT NULL);
  CREATE TABLE histories (id INTEGER PRIMARY KEY, key TEXT UNIQUE, sequence INTEGER, status TEXT, envelope TEXT);
`);
const insertMessage = db.prepare('INSERT INTO messages (body, sent_at) VALUES (?, ?)');
const removeMessage = db.prepare('DELETE FROM messages WHERE sequence_number = ?');
const select = db.prepare('SELECT status FROM histories WHERE key = ?');
const insert = db.prepare('INSERT INTO histories (key, sequence, status, envelope) VALUES (?, ?, ?, ?)');

let changes: (() => void)[] = [];
let committed: Promise<void> | undefined;

/** Resolves when `change` is committed. */
function write(change: () => void): Promise<void> {
  changes.push(change);
  committed ??= sleep(commitMs).then(() => {
    const all = changes;
    changes = [];
    committed = undefined;
    db.exec('BEGIN IMMEDIATE');
    for (const each of all) each();
    db.exec('COMMIT');
    // The events of one commit are printed with one write.
    process.stdout.cork();
    setImmediate(() => process.stdout.uncork());
  });
  return committed;
}

const places = new Map<string, number | bigint>();
const settling = new Set<Promise<void>>();

async function settle(id: string, status: string): Promise<void> {
  const key = `main/1/${id}`;
  const known = select.get(key) as { status: string } | undefined;
  const event = {
    eventId: `${key}/1`,
    partnerAccount: 'main',
    observedAt: new Date().toISOString(),
    data: { advertId: id, status, previousStatus: known?.status ?? null },
  };
  const envelope = JSON.stringify(event);
  await write(() => insert.run(key, 1, status, envelope));
  process.stdout.write(`${envelope}\n`);
  await write(() => removeMessage.run(places.get(id) ?? 0));
  places.delete(id);
}

await makeBareRequests(process.argv.slice(2), {
  listed: (ids) =>
    write(() => {
      for (const id of ids) {
        const body = JSON.stringify({
          advertId: id,
          partnerAccount: 'main',
          listedAt: new Date().toISOString(),
        });
        places.set(id, insertMessage.run(body, Date.now()).lastInsertRowid);
      }
    }),
  fetched(id, status) {
    const settled = settle(id, status).then(() => void settling.delete(settled));
    settling.add(settled);
  },
});
await Promise.all(settling);
db.close();
