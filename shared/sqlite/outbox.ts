import { Secret } from '../domain/secret.ts';
import { createLatestPages } from './advert-histories.ts';
import type { Store } from './file/store.ts';

/** An event to be sent to a webhook. */
export interface Outgoing {
  readonly number: number;
  readonly eventId: string;
  /** JSON of the whole envelope, as it is sent. */
  readonly envelope: string;
  /** Attempts that failed so far. */
  readonly attempts: number;
}

/** How a webhook gets its events: `event` as they are, or as CloudEvents. */
export const webhookFormats = ['event', 'cloudevents'] as const;
export type WebhookFormat = (typeof webhookFormats)[number];

/** What goes with each event to a webhook. */
export interface Signing {
  /** The newest first; two while the subscriber changes from one to the other. */
  readonly secrets: readonly [Secret, ...Secret[]];
  readonly format: WebhookFormat;
}

export interface OutboxCounts {
  /** Events that are still to be sent. */
  readonly waiting: number;
  /** When the oldest of them was accepted, ms since 1970. */
  readonly oldest?: number;
  /** Events that were removed unsent since the webhook is known, because they were older than the retention. */
  readonly givenUp: number;
}

/** Events given up in one transaction. */
const rowsAtOnce = 1_000;

// A lost secret cannot be had again from here.
const durable = { durable: true };

export type Outbox = ReturnType<typeof createOutbox>;

/**
 * Events that are to be sent to webhooks, and the secrets that they are signed with, in the state file. Of the events of
 * one subject (an advert, or a partner account) only the oldest, its head, is handed out, so that they arrive in order.
 */
export function createOutbox(store: Store, clock: { now(): number }) {
  // A new event is a head when no other of its subject waits.
  const insert = store.prepare(
    `INSERT INTO outbox (webhook, subject, event_id, envelope, accepted_at, attempts, due_at, head)
     VALUES (?1, ?2, ?3, ?4, ?5, 0, ?5,
       iif(EXISTS (SELECT 1 FROM outbox WHERE webhook = ?1 AND subject = ?2), 0, 1))
     ON CONFLICT (webhook, event_id) DO NOTHING`,
  );
  const selectDue = store.prepare(
    `SELECT number, event_id AS eventId, envelope, attempts FROM outbox
     WHERE webhook = ? AND head = 1 AND due_at <= ? ORDER BY due_at LIMIT ?`,
  );
  const selectNext = store.prepare(
    'SELECT due_at AS at FROM outbox WHERE webhook = ? AND head = 1 ORDER BY due_at LIMIT 1',
  );
  const remove = store.prepare('DELETE FROM outbox WHERE number = ? RETURNING webhook, subject');
  // Makes the oldest event that is left of a subject its head.
  const promote = store.prepare(
    `UPDATE outbox SET head = 1, due_at = ?3 WHERE number =
       (SELECT number FROM outbox WHERE webhook = ?1 AND subject = ?2 ORDER BY number LIMIT 1) AND head = 0`,
  );
  const postpone = store.prepare('UPDATE outbox SET attempts = attempts + 1, due_at = ? WHERE number = ?');
  const makeAllDue = store.prepare(
    'UPDATE outbox SET due_at = ?2 WHERE webhook = ?1 AND head = 1 AND due_at > ?2',
  );
  const selectOld = store.prepare(
    `SELECT number FROM outbox WHERE webhook = ? AND accepted_at < ? ORDER BY accepted_at LIMIT ${rowsAtOnce}`,
  );
  const addGivenUp = store.prepare(
    `INSERT INTO webhooks (url, given_up) VALUES (?, ?)
     ON CONFLICT (url) DO UPDATE SET given_up = given_up + excluded.given_up`,
  );
  const selectCounts = store.prepare(
    `SELECT count(*) AS waiting, min(accepted_at) AS oldest,
       ifnull((SELECT given_up FROM webhooks WHERE url = ?1), 0) AS givenUp
     FROM outbox WHERE webhook = ?1`,
  );
  const selectUrls = store.prepare(
    'SELECT url FROM webhooks UNION SELECT DISTINCT webhook FROM outbox ORDER BY 1',
  );
  const selectSigning = store.prepare(
    'SELECT secret, previous_secret AS previous, format FROM webhooks WHERE url = ?',
  );
  // On the right of SET stands what the row had before.
  const upsertSecret = store.prepare(
    `INSERT INTO webhooks (url, secret) VALUES (?1, ?2) ON CONFLICT (url) DO UPDATE SET
       previous_secret = iif(?3 AND secret IS NOT excluded.secret, secret, NULL), secret = excluded.secret`,
  );
  const dropPrevious = store.prepare('UPDATE webhooks SET previous_secret = NULL WHERE url = ?');
  const setFormat = store.prepare('UPDATE webhooks SET format = ? WHERE url = ?');
  const removeWebhook = store.prepare('DELETE FROM webhooks WHERE url = ?');
  const removeEvents = store.prepare('DELETE FROM outbox WHERE webhook = ?');
  const latestPage = createLatestPages(store);

  function put(webhook: string, envelope: string): number {
    const { resources, detail } = JSON.parse(envelope);
    const subject = String(resources?.[0] ?? '');
    return Number(insert.run(webhook, subject, detail.metadata.eventId, envelope, clock.now()).changes);
  }

  function take(number: number): boolean {
    const row = remove.get(number) as { webhook: string; subject: string } | undefined;
    if (row) promote.run(row.webhook, row.subject, clock.now());
    return row !== undefined;
  }

  return {
    /** Accepts the event for each webhook; an event that already waits for one stays as it is. */
    add: (webhooks: readonly string[], envelope: string): Promise<void> =>
      store.write(() => {
        for (const webhook of webhooks) put(webhook, envelope);
      }),

    /**
     * Accepts the latest events of the next adverts of a generation as they were recorded. Reading and accepting is one
     * transaction, so that none of them is accepted after a later event of its advert.
     *
     * @param history partner account and generation, `main/1763640000`
     * @param after where the last call ended
     * @returns undefined when there are no more
     */
    addLatest: (webhook: string, history: string, after?: string) =>
      store.write((): { readonly after: string; readonly added: number } | undefined => {
        const page = latestPage(history, after);
        return page && { after: page.after, added: sumOf(page.envelopes.map((one) => put(webhook, one))) };
      }),

    /** At most `limit` events that may be sent now, at most one of each subject. */
    due: (webhook: string, limit: number): Outgoing[] =>
      store.read(() => selectDue.all(webhook, clock.now(), limit)) as unknown as Outgoing[],

    /** When the next event may be sent, ms since 1970; undefined when none waits. */
    nextDue: (webhook: string): number | undefined =>
      (store.read(() => selectNext.get(webhook)) as { at: number } | undefined)?.at,

    /** Removes an event that has arrived: the next one of its subject may be sent. @returns whether it was there */
    delivered: (number: number): Promise<boolean> => store.write(() => take(number)),

    /** Notes a failed attempt: the event may be sent again at `dueAt`, and the rest of its subject waits for it. */
    async failed(number: number, dueAt: number): Promise<void> {
      await store.write(() => postpone.run(dueAt, number));
    },

    /** Makes postponed events due now: a run that begins does not wait for the backoff of the run before. */
    async makeAllDue(webhook: string): Promise<void> {
      await store.write(() => makeAllDue.run(webhook, clock.now()));
    },

    /** Removes and counts events that were accepted before a moment, up to a thousand. @returns how many */
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
      const row = store.read(() => selectCounts.get(webhook));
      const { oldest, ...counts } = row as { waiting: number; oldest: number | null; givenUp: number };
      return { ...counts, ...(oldest === null ? {} : { oldest }) };
    },

    /** Every webhook that has a secret, or events that wait for it. */
    webhooks: (): string[] => (store.read(() => selectUrls.all()) as { url: string }[]).map(({ url }) => url),

    /** Undefined where no secret is stored. */
    signing(webhook: string): Signing | undefined {
      const row = store.read(() => selectSigning.get(webhook)) as
        | Record<'secret' | 'previous' | 'format', string | null>
        | undefined;
      if (typeof row?.secret !== 'string') return undefined;
      const older = typeof row.previous === 'string' ? [new Secret(row.previous)] : [];
      const format = row.format === 'cloudevents' ? 'cloudevents' : 'event';
      return { secrets: [new Secret(row.secret), ...older], format };
    },

    /** Stores a new secret. @param keepOld whether the one before signs beside it */
    async writeSecret(webhook: string, secret: Secret, { keepOld = false } = {}): Promise<void> {
      await store.write(() => upsertSecret.run(webhook, secret.reveal(), keepOld ? 1 : 0), durable);
    },

    /** Only the newest secret signs from now on. */
    async dropOldSecret(webhook: string): Promise<void> {
      await store.write(() => dropPrevious.run(webhook), durable);
    },

    /** For a webhook whose secret is stored. */
    async writeFormat(webhook: string, format: WebhookFormat): Promise<void> {
      await store.write(() => setFormat.run(format, webhook), durable);
    },

    /** Removes the webhook's secret and its events. @returns how many events there were */
    forget: (webhook: string): Promise<number> =>
      store.write(() => {
        removeWebhook.run(webhook);
        return Number(removeEvents.run(webhook).changes);
      }, durable),
  };
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0);
