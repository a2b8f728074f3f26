import { createHash } from 'node:crypto';
import type { Connection } from './file/connection.ts';
import type { RowStore } from './store.ts';

/** Why a webhook takes no events. */
export interface Trouble {
  readonly reason: string;
  /** Since when deliveries have failed, ms since 1970. */
  readonly since: number;
  /** The subscriber wants no more events: a run sends nothing more. */
  readonly gone: boolean;
}

export const webhookFormats = ['event', 'cloudevents'] as const;
export type WebhookFormat = (typeof webhookFormats)[number];

/** The row of standard output, or of a webhook by its URL. */
export interface Reader {
  /** Number of the last event that it has read; absent: it has not begun. */
  readonly position?: number;
  /** Number of events that it was never sent, because they were older than the retention, or too many waited. */
  readonly givenUp?: number;
  /** How many events may wait for it, as the latest run has it. */
  readonly maxEvents?: number;
  readonly trouble?: Trouble | undefined;
  /** The pipe into which a line may have been written that a crash can tear. */
  readonly tears?: string | undefined;
  /** The newest secret first; there are two during a rotation. */
  readonly secrets?: readonly string[];
  readonly format?: WebhookFormat;
}

/**
 * The address of a webhook or event bus in a form safe for logs and output. Any path may be a secret, as the addresses of
 * chat services are: of path and query two characters are shown, and a digest, by which two URLs differ.
 */
export function shownUrl(url: string): string {
  if (kindOfReader(url) === 'event bus') return url;
  const { origin, pathname, search } = new URL(url);
  if (pathname + search === '/') return url;
  const digest = createHash('sha256').update(url).digest('hex').slice(0, 4);
  return `${origin}${pathname.slice(0, 3)}…${digest}`;
}

/** The events that a reader has not received. */
export interface Backlog {
  readonly waiting: number;
  /** When the oldest of them was published, ms since 1970. */
  readonly oldest?: number;
  readonly givenUp: number;
  readonly maxEvents?: number;
}

/** What a reader of the log is, other than standard output, by its name: a URL, or the ARN of an event bus. */
export const kindOfReader = (name: string) => (name.startsWith('arn:') ? 'event bus' : 'webhook');

/** A webhook or event bus in the fields of a log line. */
export const aboutReader = (url: string) => ({
  [kindOfReader(url) === 'webhook' ? 'webhook' : 'eventBus']: shownUrl(url),
});

export const linesReader = 'stdout';
export const readerKey = (name: string) => ({ kind: 'reader', name }) as const;

/** Number of events that are kept although every reader has read them, for `tail`. The oldest are removed in portions. */
const kept = 5_000;
const portion = 500;
const rowsAtOnce = 500;

export type EventLog = ReturnType<typeof createEventLog>;

/**
 * The published events in their order. Standard output and each webhook read them from a position of their own, which is
 * stored; `tail` reads from the end. An event is kept until every stored position is behind it, or it is given up.
 */
export function createEventLog(connection: Connection, rows: RowStore, clock: { now(): number }) {
  const insert = connection.prepare('INSERT INTO events (at, envelope, reader) VALUES (?, ?, ?)');
  const trim = connection.prepare(
    `DELETE FROM events WHERE number <= min($last, (SELECT min(number) FROM events) + ${4 * portion},
       (SELECT ifnull(min(value ->> '$.position'), $last) FROM rows WHERE kind = 'reader'))`,
  );
  const selectEnds = connection.prepare(
    `SELECT ifnull((SELECT min(number) FROM events), 0) AS first,
       ifnull((SELECT max(number) FROM events), 0) AS last`,
  );
  const isMeant = '(reader IS NULL OR reader = $reader)';
  const selectAfter = connection.prepare(
    `SELECT number, envelope FROM events WHERE number > $after AND ${isMeant} ORDER BY number LIMIT $limit`,
  );
  const selectOfAdvert = connection.prepare(
    `SELECT envelope FROM events WHERE reader IS NULL AND envelope ->> '$.detail.metadata.partnerAccount' = ?
       AND envelope ->> '$.detail.data.advertId' = ? ORDER BY number`,
  );
  const selectOld = connection.prepare(
    `SELECT max(number) AS last, ifnull(sum(${isMeant}), 0) AS missed FROM events WHERE number > $after
       AND number < ifnull((SELECT number FROM events WHERE number > $after AND at >= $before ORDER BY number LIMIT 1), 1e18)`,
  );
  const removeOldUnsent = connection.prepare('DELETE FROM unsent WHERE webhook = ? AND at < ?');
  const removeFirstUnsent = connection.prepare(
    `DELETE FROM unsent WHERE webhook = $reader AND number IN
       (SELECT number FROM unsent WHERE webhook = $reader ORDER BY number LIMIT $surplus)`,
  );
  const selectNth = connection.prepare(
    `SELECT number FROM events WHERE number > $after AND ${isMeant} ORDER BY number LIMIT 1 OFFSET $nth - 1`,
  );
  const sumUp = connection.prepare(
    `SELECT count(*) AS waiting, min(at) AS oldest FROM (SELECT at FROM unsent WHERE webhook = $reader
       UNION ALL SELECT at FROM events WHERE number > $after AND ${isMeant})`,
  );

  function add(envelope: string, reader: string | null): void {
    const number = Number(insert.run(clock.now(), envelope, reader).lastInsertRowid);
    if (number % portion === 0) trim.run({ last: number - kept });
  }

  const ends = () =>
    connection.read(() => selectEnds.get()) as unknown as Readonly<Record<'first' | 'last', number>>;
  /** Within a read or write of the connection. */
  const readerOf = (name: string) => rows.find(readerKey(name))?.value as Reader | undefined;
  /** Undefined for a reader that has not begun. */
  const position = (name: string): number | undefined => connection.read(() => readerOf(name))?.position;
  function waitingAfter(reader: string, after: number) {
    const row = sumUp.get({ reader, after }) as { waiting: number; oldest: number | null };
    return { waiting: row.waiting, ...(row.oldest !== null && { oldest: row.oldest }) };
  }

  return {
    append: (envelope: string): Promise<void> => connection.write(() => add(envelope, null)),

    /**
     * Appends, for one reader alone, the latest recorded events of the next thousand adverts of a generation. Reading
     * and appending are one transaction, so that no event is appended after a later event of the same advert.
     *
     * @param history partner account and generation, `main/1763640000`
     * @param after where the last call ended; the end is reached when it returns undefined
     */
    appendLatest: (reader: string, history: string, after = '') =>
      connection.write(() => {
        const found = rows.findAll('history', { prefix: `${history}/`, after, limit: 1_000 });
        const envelopes = found.flatMap(
          ({ value }) => (value as { envelope?: string } | undefined)?.envelope ?? [],
        );
        for (const envelope of envelopes) add(envelope, reader);
        const last = found.at(-1);
        return last && { after: last.name, added: envelopes.length };
      }),

    ends,
    readerOf,
    /** Within a read or write of the connection. */
    backlogOf: (name: string, { position, givenUp = 0, maxEvents }: Reader): Backlog => ({
      ...waitingAfter(name, position ?? Number.POSITIVE_INFINITY),
      givenUp,
      ...(maxEvents !== undefined && { maxEvents }),
    }),
    /** The events after `number`, without those for another reader alone; at most 500. */
    after: (number: number, reader = '', limit = rowsAtOnce) =>
      connection.read(() => selectAfter.all({ after: number, reader, limit })) as {
        number: number;
        envelope: string;
      }[],

    /** The events of one advert that are still kept. */
    ofAdvert: (partnerAccount: string, advertId: string): readonly string[] =>
      connection.read(() => selectOfAdvert.all(partnerAccount, advertId)).map((row) => String(row.envelope)),

    position,
    /** @returns the reader's position; a new reader begins at the end of the log */
    begin: (name: string): Promise<number> =>
      connection.write(() => {
        const reader = { position: ends().last, ...readerOf(name) };
        rows.putWithin(readerKey(name), reader);
        return reader.position;
      }),
    /** Does nothing for a reader that was forgotten. */
    advance: (name: string, number: number): Promise<void> =>
      connection.write(() => {
        const reader = readerOf(name);
        const position = Math.max(number, reader?.position ?? 0);
        if (reader) rows.putWithin(readerKey(name), { ...reader, position });
      }),
    /** Changes parts of a reader's row; nothing for a reader that was forgotten. */
    note: (name: string, part: Pick<Reader, 'trouble' | 'tears'>): Promise<void> =>
      connection.write(() => {
        const reader = readerOf(name);
        if (reader) rows.putWithin(readerKey(name), { ...reader, ...part });
      }),
    leave: (name: string): Promise<void> => connection.write(() => void rows.removeWithin(readerKey(name))),

    /**
     * Passes over the reader's unread and unsent events from before a given time, and over the oldest if too many wait.
     *
     * @param limits.after what it has read, where its stored position is behind that
     * @returns the numbers of both, and its position
     */
    giveUp: (name: string, limits: { before: number; maxEvents: number; after?: number | undefined }) =>
      connection.write(() => {
        const { before, maxEvents, after = 0 } = limits;
        const reader = readerOf(name);
        if (!reader) return { tooOld: 0, tooMany: 0, position: 0 };
        const read = Math.max(after, reader.position ?? Number.POSITIVE_INFINITY);
        const old = selectOld.get({ after: read, reader: name, before }) as {
          last: number | null;
          missed: number;
        };
        const tooOld = old.missed + Number(removeOldUnsent.run(name, before).changes);
        const young = Math.max(read, old.last ?? 0);
        const tooMany = Math.max(0, waitingAfter(name, young).waiting - maxEvents);
        const nth = tooMany - Number(removeFirstUnsent.run({ reader: name, surplus: tooMany }).changes);
        const surplus = nth > 0 ? selectNth.get({ after: young, reader: name, nth }) : undefined;
        const passed = Number(surplus?.number ?? old.last ?? 0);
        const position = Math.max(passed, reader.position ?? 0);
        const { givenUp = 0 } = reader;
        const changed = { givenUp: givenUp + tooOld + tooMany, maxEvents, ...(position > 0 && { position }) };
        rows.putWithin(readerKey(name), { ...reader, ...changed });
        return { tooOld, tooMany, position };
      }),
  };
}
