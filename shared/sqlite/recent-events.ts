import type { Store } from './file/store.ts';

export interface RecentEvent {
  /** Number of the event, one greater than that of the previous event. */
  readonly number: number;
  readonly envelope: string;
}

/** Number of events to keep: more than a bridge publishes between two reads. The oldest are removed in batches. */
const kept = 5_000;
const portion = 500;
const readAtOnce = 500;

/** The latest events that a run has published. `tail` reads them from another process. */
export function createRecentEvents(store: Store) {
  const insert = store.prepare('INSERT INTO recent_events (envelope) VALUES (?)');
  const trim = store.prepare('DELETE FROM recent_events WHERE number <= ?');
  const selectLast = store.prepare('SELECT ifnull(max(number), 0) AS number FROM recent_events');
  const selectAfter = store.prepare(
    `SELECT number, envelope FROM recent_events WHERE number > ? ORDER BY number LIMIT ${readAtOnce}`,
  );
  return {
    add: (envelope: string): Promise<void> =>
      store.write(() => {
        const number = Number(insert.run(envelope).lastInsertRowid);
        if (number % portion === 0) trim.run(number - kept);
      }),
    /** Number of the latest event; 0 if there is none. */
    last: (): number => (store.read(() => selectLast.get()) as { number: number }).number,
    after: (number: number): RecentEvent[] =>
      store.read(() => selectAfter.all(number)) as unknown as RecentEvent[],
  };
}

export type RecentEvents = ReturnType<typeof createRecentEvents>;
