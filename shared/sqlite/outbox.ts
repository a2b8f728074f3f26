import { Secret } from '../domain/secret.ts';
import type { Store } from './file/store.ts';

/** An event on its way to a webhook. */
export interface Outgoing {
  readonly number: number;
  readonly eventId: string;
  /** JSON of the whole envelope, as it is sent. */
  readonly envelope: string;
  /** Attempts that failed so far. */
  readonly attempts: number;
}

/** What waits for one webhook. */
export interface OutboxCounts {
  readonly waiting: number;
  /** When the oldest of them was accepted, ms since 1970. */
  readonly oldest?: number;
  /** Events that were removed unsent since the webhook is known, for they were older than the retention. */
  readonly givenUp: number;
}

interface Row {
  readonly number: number;
  readonly webhook: string;
  readonly subject: string;
  readonly event_id: string;
  readonly envelope: string;
  readonly attempts: number;
}

/** Events given up in one transaction, and adverts whose events are put into it in one. */
const rowsAtOnce = 1_000;

// A webhook's secret cannot be had again from here: it waits for the disk.
const durable = { durable: true };

export type Outbox = ReturnType<typeof createOutbox>;

/**
 * Events that wait for webhooks, in the state file: what was accepted survives the death of the process. Of each
 * subject's events only the oldest is handed out, so that they arrive one after the other.
 */
export function createOutbox(store: Store, clock: { now(): number }) {
  const insert = store.prepare(
    `INSERT INTO outbox (webhook, subject, event_id, envelope, accepted_at, attempts, due_at, head)
     VALUES (?1, ?2, ?3, ?4, ?5, 0, ?5,
       iif(EXISTS (SELECT 1 FROM outbox WHERE webhook = ?1 AND subject = ?2), 0, 1))
     ON CONFLICT (webhook, event_id) DO NOTHING`,
  );
  const selectDue = store.prepare(
    `SELECT number, event_id, envelope, attempts FROM outbox
     WHERE webhook = ? AND head = 1 AND due_at <= ? ORDER BY due_at LIMIT ?`,
  );
  const selectNext = store.prepare(
    'SELECT due_at AS at FROM outbox WHERE webhook = ? AND head = 1 ORDER BY due_at LIMIT 1',
  );
  const remove = store.prepare('DELETE FROM outbox WHERE number = ? RETURNING webhook, subject');
  const promote = store.prepare(
    `UPDATE outbox SET head = 1, due_at = ?3 WHERE number =
       (SELECT number FROM outbox WHERE webhook = ?1 AND subject = ?2 ORDER BY number LIMIT 1) AND head = 0`,
  );
  const putOff = store.prepare('UPDATE outbox SET attempts = attempts + 1, due_at = ? WHERE number = ?');
  const hurryAll = store.prepare(
    'UPDATE outbox SET due_at = ?2 WHERE webhook = ?1 AND head = 1 AND due_at > ?2',
  );
  const selectOld = store.prepare(
    `SELECT number FROM outbox WHERE webhook = ? AND accepted_at < ? ORDER BY accepted_at LIMIT ${rowsAtOnce}`,
  );
  const addGivenUp = store.prepare(
    `INSERT INTO webhooks (url, given_up) VALUES (?, ?)
     ON CONFLICT (url) DO UPDATE SET given_up = given_up + excluded.given_up`,
  );
  const selectCount = store.prepare(
    'SELECT count(*) AS waiting, min(accepted_at) AS oldest FROM outbox WHERE webhook = ?',
  );
  const selectWebhook = store.prepare('SELECT secret, given_up FROM webhooks WHERE url = ?');
  const selectUrls = store.prepare(
    'SELECT url FROM webhooks UNION SELECT DISTINCT webhook FROM outbox ORDER BY 1',
  );
  const upsertSecret = store.prepare(
    'INSERT INTO webhooks (url, secret) VALUES (?, ?) ON CONFLICT (url) DO UPDATE SET secret = excluded.secret',
  );
  const forgetWebhook = store.prepare('DELETE FROM webhooks WHERE url = ?');
  const forgetEvents = store.prepare('DELETE FROM outbox WHERE webhook = ?');
  const selectHistories = store.prepare(
    `SELECT key, envelope FROM advert_histories WHERE key > ? AND key < ? ORDER BY key LIMIT ${rowsAtOnce}`,
  );

  function take(number: number): boolean {
    const row = remove.get(number) as Pick<Row, 'webhook' | 'subject'> | undefined;
    if (row) promote.run(row.webhook, row.subject, clock.now());
    return row !== undefined;
  }

  function put(webhook: string, envelope: string): number {
    const { resources, detail } = JSON.parse(envelope);
    const subject = String(resources?.[0] ?? '');
    return Number(insert.run(webhook, subject, detail.metadata.eventId, envelope, clock.now()).changes);
  }

  return {
    /** Accepts the event for each webhook; one that waits for it already stays as it is. */
    add: (webhooks: readonly string[], envelope: string): Promise<void> =>
      store.write(() => {
        for (const webhook of webhooks) put(webhook, envelope);
      }),

    /**
     * Accepts the latest event of the next adverts of a generation, as they were recorded: in the transaction that reads
     * them, so that none comes after a later one.
     *
     * @param history partner account and generation, `main/1763640000`
     * @param after where the last call ended
     * @returns undefined when there are no more
     */
    addLatest: (webhook: string, history: string, after = `${history}/`) =>
      store.write((): { readonly after: string; readonly added: number } | undefined => {
        // '0' is what comes after '/'.
        const rows = selectHistories.all(after, `${history}0`) as unknown as {
          key: string;
          envelope: string | null;
        }[];
        const last = rows.at(-1);
        if (!last) return undefined;
        const added = rows.reduce((sum, { envelope }) => sum + (envelope ? put(webhook, envelope) : 0), 0);
        return { after: last.key, added };
      }),

    /** At most `limit` events that may be sent now, at most one of each subject. */
    due(webhook: string, limit: number): Outgoing[] {
      const rows = store.read(() => selectDue.all(webhook, clock.now(), limit)) as unknown as Row[];
      return rows.map(({ number, event_id: eventId, envelope, attempts }) => ({
        number,
        eventId,
        envelope,
        attempts,
      }));
    },

    /** When the next one may be sent, ms since 1970; undefined when nothing waits. */
    nextDue: (webhook: string): number | undefined =>
      (store.read(() => selectNext.get(webhook)) as { at: number } | undefined)?.at,

    /** It has arrived: the next one of its subject may follow. */
    delivered: (number: number): Promise<boolean> => store.write(() => take(number)),

    /** It has not: it may be sent again at `dueAt`, and what follows it waits. */
    async failed(number: number, dueAt: number): Promise<void> {
      await store.write(() => putOff.run(dueAt, number));
    },

    /** What was put off may be sent now: a run that begins does not wait out the backoff of the one before. */
    async hurry(webhook: string): Promise<void> {
      await store.write(() => hurryAll.run(webhook, clock.now()));
    },

    /** Removes what was accepted before a moment, and counts it. @returns how many events that were */
    async giveUp(webhook: string, before: number): Promise<number> {
      if (store.read(() => selectOld.all(webhook, before)).length === 0) return 0;
      return store.write(() => {
        const rows = selectOld.all(webhook, before) as { number: number }[];
        for (const { number } of rows) take(number);
        addGivenUp.run(webhook, rows.length);
        return rows.length;
      });
    },

    counts(webhook: string): OutboxCounts {
      const { waiting, oldest } = store.read(() => selectCount.get(webhook)) as {
        waiting: number;
        oldest: number | null;
      };
      const row = store.read(() => selectWebhook.get(webhook)) as { given_up: number } | undefined;
      return { waiting, ...(oldest === null ? {} : { oldest }), givenUp: row?.given_up ?? 0 };
    },

    /** Every webhook that has a secret, or that something waits for. */
    webhooks: (): string[] => (store.read(() => selectUrls.all()) as { url: string }[]).map(({ url }) => url),

    secrets: {
      read(webhook: string): Secret | undefined {
        const row = store.read(() => selectWebhook.get(webhook)) as { secret: string | null } | undefined;
        return typeof row?.secret === 'string' ? new Secret(row.secret) : undefined;
      },
      async write(webhook: string, secret: Secret): Promise<void> {
        await store.write(() => upsertSecret.run(webhook, secret.reveal()), durable);
      },
    },

    /** Forgets its secret and what waits for it. @returns how many events that were */
    forget: (webhook: string): Promise<number> =>
      store.write(() => {
        forgetWebhook.run(webhook);
        return Number(forgetEvents.run(webhook).changes);
      }, durable),
  };
}
