import { Secret } from '../domain/secret.ts';
import { createLatestPages } from './advert-histories.ts';
import type { Store } from './file/store.ts';

/** An event to be sent to a webhook. */
export interface Outgoing {
  readonly number: number;
  readonly eventId: string;
  /** JSON of the whole envelope, as sent. */
  readonly envelope: string;
  /** Number of failed attempts. */
  readonly attempts: number;
}

/** Format of a webhook's events: `event` (unchanged), or CloudEvents. */
export const webhookFormats = ['event', 'cloudevents'] as const;
export type WebhookFormat = (typeof webhookFormats)[number];

/** Secrets and format of a webhook. */
export interface Signing {
  /** The newest secret first; there are two during a rotation. */
  readonly secrets: readonly [Secret, ...Secret[]];
  readonly format: WebhookFormat;
}

export interface OutboxCounts {
  /** Number of events that wait to be sent. */
  readonly waiting: number;
  /** When the oldest waiting event was accepted, ms since 1970. */
  readonly oldest?: number;
  /**
   * Number of events that were removed unsent, because they were older than the retention, since the webhook was
   * registered.
   */
  readonly givenUp: number;
}

/** Number of events to give up per transaction. */
const rowsAtOnce = 1_000;

// A lost secret cannot be recovered, so this write is durable.
const durable = { durable: true };

export type Outbox = ReturnType<typeof createOutbox>;

/**
 * Events to be sent to webhooks, and the secrets for their signatures, in the state file. Of the events of one subject
 * (an advert, or a partner account), only the oldest (the head) is returned for sending, so that they arrive in order.
 */
export function createOutbox(store: Store, clock: { now(): number }) {
  // A new event is a head if no other event of its subject waits.
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
  // Makes the oldest remaining event of a subject its head.
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
  // On the right side of SET, a column has its previous value.
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

  function take(number: number): void {
    const row = remove.get(number) as { webhook: string; subject: string } | undefined;
    if (row) promote.run(row.webhook, row.subject, clock.now());
  }

  return {
    /** Stores the event for each webhook; an event that already waits stays unchanged. */
    add: (webhooks: readonly string[], envelope: string): Promise<void> =>
      store.write(() => {
        for (const webhook of webhooks) put(webhook, envelope);
      }),

    /**
     * Stores the latest recorded events of the next adverts of a generation. Reading and storing are one transaction,
     * so that no event is stored after a later event of the same advert.
     *
     * @param history partner account and generation, `main/1763640000`
     * @param after position where the last call ended
     * @returns undefined when there are no more
     */
    addLatest: (webhook: string, history: string, after?: string) =>
      store.write(() => {
        const page = latestPage(history, after);
        if (!page) return undefined;
        const added = page.envelopes.reduce((sum, one) => sum + put(webhook, one), 0);
        return { after: page.after, added };
      }),

    /** At most `limit` events that may be sent now, and at most one per subject. */
    due: (webhook: string, limit: number): Outgoing[] =>
      store.read(() => selectDue.all(webhook, clock.now(), limit)) as unknown as Outgoing[],

    /** When the next event may be sent, ms since 1970; undefined if none waits. */
    nextDue: (webhook: string): number | undefined =>
      (store.read(() => selectNext.get(webhook)) as { at: number } | undefined)?.at,

    /** Removes an event that has arrived, so that the next one of its subject may be sent. */
    delivered: (number: number): Promise<void> => store.write(() => take(number)),

    /** Records a failed attempt: the event may be sent again at `dueAt`, and later events of its subject wait for it. */
    async failed(number: number, dueAt: number): Promise<void> {
      await store.write(() => postpone.run(dueAt, number));
    },

    /** Makes postponed events due now, so that a new run does not wait for the backoff of the previous run. */
    async makeAllDue(webhook: string): Promise<void> {
      await store.write(() => makeAllDue.run(webhook, clock.now()));
    },

    /** Removes and counts events that were accepted before a given time, up to a thousand. @returns their number */
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

    /** Every webhook that has a secret or waiting events. */
    webhooks: (): string[] => (store.read(() => selectUrls.all()) as { url: string }[]).map(({ url }) => url),

    /** Undefined if no secret is stored. */
    signing(webhook: string): Signing | undefined {
      const row = store.read(() => selectSigning.get(webhook)) as
        | Record<'secret' | 'previous' | 'format', string | null>
        | undefined;
      if (typeof row?.secret !== 'string') return undefined;
      const older = typeof row.previous === 'string' ? [new Secret(row.previous)] : [];
      const format = row.format === 'cloudevents' ? 'cloudevents' : 'event';
      return { secrets: [new Secret(row.secret), ...older], format };
    },

    /** Stores a new secret. @param keepOld whether the previous secret signs too */
    async writeSecret(webhook: string, secret: Secret, { keepOld = false } = {}): Promise<void> {
      await store.write(() => upsertSecret.run(webhook, secret.reveal(), keepOld ? 1 : 0), durable);
    },

    /** From now on, only the newest secret signs. */
    async dropOldSecret(webhook: string): Promise<void> {
      await store.write(() => dropPrevious.run(webhook), durable);
    },

    /** For a webhook whose secret is stored. */
    async writeFormat(webhook: string, format: WebhookFormat): Promise<void> {
      await store.write(() => setFormat.run(format, webhook), durable);
    },

    /** Removes the webhook's secret and its events. @returns the number of removed events */
    forget: (webhook: string): Promise<number> =>
      store.write(() => {
        removeWebhook.run(webhook);
        return Number(removeEvents.run(webhook).changes);
      }, durable),
  };
}
