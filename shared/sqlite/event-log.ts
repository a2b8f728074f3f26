import type { Connection } from './file/connection.ts';

/** An event of the log. */
export interface LoggedEvent {
  /** Greater than that of every earlier event. */
  readonly number: number;
  /** JSON of the whole envelope. */
  readonly envelope: string;
}

export interface Unread {
  readonly waiting: number;
  /** When the oldest of them was published, ms since 1970. */
  readonly oldest?: number;
}

/**
 * Number of events that are kept although every reader has read them, for `tail` and for a look back. The oldest are
 * removed in portions.
 */
const kept = 5_000;
const portion = 500;
/** Number of events to read, or to give up, at once. */
const rowsAtOnce = 500;

export type EventLog = ReturnType<typeof createEventLog>;

/**
 * The events that were published, in their order, in the state file. Everybody who reads events reads this log, each
 * reader from its own position: standard output and each webhook from one that is stored here, `tail` from the end.
 *
 * An event is kept until every stored position is behind it, at most until it is given up for its age (`giveUp`).
 */
export function createEventLog(connection: Connection, clock: { now(): number }) {
  const insert = connection.prepare('INSERT INTO events (at, envelope, reader) VALUES (?, ?, ?)');
  const trim = connection.prepare(
    `DELETE FROM events WHERE number <= min(?1, (SELECT min(number) FROM events) + ${4 * portion},
       (SELECT ifnull(min(position), ?1) FROM readers))`,
  );
  const selectEnds = connection.prepare(
    'SELECT (SELECT min(number) FROM events) AS first, (SELECT max(number) FROM events) AS last',
  );
  const isMeant = '(reader IS NULL OR reader = ?2)';
  const selectAfter = connection.prepare(
    `SELECT number, envelope FROM events WHERE number > ?1 AND ${isMeant} ORDER BY number LIMIT ?3`,
  );
  const selectPosition = connection.prepare('SELECT position FROM readers WHERE name = ?');
  const insertReader = connection.prepare(
    `INSERT INTO readers (name, position) VALUES (?, ?)
     ON CONFLICT (name) DO UPDATE SET position = ifnull(position, excluded.position) RETURNING position`,
  );
  const move = connection.prepare('UPDATE readers SET position = ?1 WHERE name = ?2 AND position < ?1');
  const removeReader = connection.prepare('DELETE FROM readers WHERE name = ?');
  const selectUnread = connection.prepare(
    `SELECT count(*) AS waiting, min(at) AS oldest FROM events WHERE number > ?1 AND ${isMeant}`,
  );
  const selectOld = connection.prepare(
    `SELECT max(number) AS last, count(*) AS old, ifnull(sum(${isMeant}), 0) AS events
     FROM (SELECT * FROM events WHERE number > ?1 ORDER BY number LIMIT ${rowsAtOnce}) WHERE at < ?3`,
  );
  const countGivenUp = connection.prepare('UPDATE readers SET given_up = given_up + ? WHERE name = ?');
  const latestPage = createLatestPages(connection);

  /** Call it within a write of the connection. */
  function add(envelope: string, reader: string | null): void {
    const number = Number(insert.run(clock.now(), envelope, reader).lastInsertRowid);
    if (number % portion === 0) trim.run(number - kept);
  }

  const ends = () => {
    const { first, last } = connection.read(() => selectEnds.get()) as Record<
      'first' | 'last',
      number | null
    >;
    return { first: first ?? 0, last: last ?? 0 };
  };
  /** Undefined for a reader that has not begun. */
  const position = (reader: string): number | undefined =>
    (connection.read(() => selectPosition.get(reader)) as { position: number | null } | undefined)
      ?.position ?? undefined;
  /** Call it within a write of the connection. */
  const moveTo = (reader: string, number: number): void => void move.run(number, reader);

  return {
    append: (envelope: string): Promise<void> => connection.write(() => add(envelope, null)),

    /**
     * Appends, for one reader alone, the latest recorded events of the next adverts of a generation. Reading and
     * appending are one transaction, so that no event is appended after a later event of the same advert.
     *
     * @param history partner account and generation, `main/1763640000`
     * @param after position where the last call ended
     * @returns undefined when there are no more
     */
    appendLatest: (reader: string, history: string, after?: string) =>
      connection.write(() => {
        const page = latestPage(history, after);
        if (!page) return undefined;
        for (const envelope of page.envelopes) add(envelope, reader);
        return { after: page.after, added: page.envelopes.length };
      }),

    /** Numbers of the first and the last event; 0 if there is none. */
    ends,
    /** The events after `number`, without those for another reader alone; at most 500. */
    after: (number: number, reader = '', limit = rowsAtOnce): LoggedEvent[] =>
      connection.read(() => selectAfter.all(number, reader, limit)) as unknown as LoggedEvent[],

    position,
    /** The reader's position; a new reader begins at the end of the log. */
    begin: (reader: string): Promise<number> =>
      connection.write(() => (insertReader.get(reader, ends().last) as { position: number }).position),
    /** Stores how far the reader has read. */
    advance: (reader: string, number: number): Promise<void> =>
      connection.write(() => moveTo(reader, number)),
    /** Forgets the reader's position. */
    leave: (reader: string): Promise<void> => connection.write(() => void removeReader.run(reader)),

    unread(reader: string): Unread {
      const from = position(reader);
      if (from === undefined) return { waiting: 0 };
      const row = connection.read(() => selectUnread.get(from, reader));
      const { waiting, oldest } = row as { waiting: number; oldest: number | null };
      return { waiting, ...(oldest !== null && { oldest }) };
    },

    /** Passes over the reader's unread events from before a given time. @returns their number */
    async giveUp(reader: string, before: number): Promise<number> {
      for (let sum = 0; ; ) {
        const from = position(reader) ?? Number.POSITIVE_INFINITY;
        const row = connection.read(() => selectOld.get(from, reader, before));
        const { last, old, events } = row as { last: number | null; old: number; events: number };
        if (last === null) return sum;
        await connection.write(() => {
          moveTo(reader, last);
          countGivenUp.run(events, reader);
        });
        sum += events;
        if (old < rowsAtOnce) return sum;
      }
    },
  };
}

/**
 * Reads the latest events of a generation's adverts, a thousand at a time. Call it within a write of the connection.
 *
 * @returns a function that takes `main/1763640000` (partner account and generation) and the end of the previous page,
 * and returns undefined after the last page
 */
function createLatestPages(connection: Connection) {
  const select = connection.prepare(
    `SELECT name, value ->> 'envelope' AS envelope FROM rows
     WHERE kind = 'history' AND name > ? AND name < ? ORDER BY name LIMIT 1000`,
  );
  return (history: string, after = `${history}/`) => {
    // '0' is the character after '/', so this is the end of the keys with the prefix `history/`.
    const rows = select.all(after, `${history}0`) as unknown as { name: string; envelope: string | null }[];
    const last = rows.at(-1);
    return last && { after: last.name, envelopes: rows.flatMap(({ envelope }) => envelope ?? []) };
  };
}
