import { Secret } from '../../shared/domain/secret.ts';
import {
  type Backlog,
  type EventLog,
  type Reader,
  readerKey,
  type Trouble,
  type WebhookFormat,
} from './event-log.ts';
import type { Connection } from './file/connection.ts';
import type { RowStore } from './store.ts';

/** An event that its webhook did not take, or that follows such an event of the same subject. */
export interface UnsentEvent {
  readonly number: number;
  readonly subject: string;
  /** JSON of the whole envelope. */
  readonly envelope: string;
  /** Number of failed attempts. */
  readonly attempts: number;
  /** When it is sent again, ms since 1970. */
  readonly dueAt: number;
}

export interface WebhookStatus extends Backlog {
  readonly url: string;
  /** Undefined if the last attempt succeeded, or there was none. */
  readonly trouble?: Trouble;
}

/** The results of a batch of events. */
interface Settled {
  /** Number of the last event that was read from the log for it; 0 for none. */
  readonly position: number;
  readonly trouble: Trouble | undefined;
  readonly sent: readonly UnsentEvent[];
  /** Events that have not arrived, and those that wait behind such an event of their subject. */
  readonly unsent: readonly UnsentEvent[];
}

/** A lost secret cannot be recovered. */
const durable = { durable: true };

export type Webhooks = ReturnType<typeof createWebhooks>;

/**
 * The webhooks that read the event log: their secrets, and the events that they did not take. Of the unsent events of
 * one subject (an advert, or a partner account), which are due together, only the oldest is next: they arrive in order.
 */
export function createWebhooks(connection: Connection, rows: RowStore, log: EventLog) {
  const countAttempt = connection.prepare('UPDATE unsent SET attempts = ? WHERE webhook = ? AND number = ?');
  // Inserts only an event that was not given up in the meantime; it is due when the others of its subject are.
  const insert = connection.prepare(
    `INSERT INTO unsent (webhook, number, subject, envelope, at, attempts, due_at)
     SELECT $webhook, number, $subject, envelope, at, $attempts,
       ifnull((SELECT max(due_at) FROM unsent WHERE webhook = $webhook AND subject = $subject), 0)
     FROM events WHERE number = $number AND number > $position`,
  );
  const remove = connection.prepare('DELETE FROM unsent WHERE webhook = ? AND number = ?');
  const setDue = connection.prepare('UPDATE unsent SET due_at = ? WHERE webhook = ? AND subject = ?');
  const selectNext = connection.prepare(
    `SELECT number, subject, envelope, attempts, due_at AS dueAt FROM unsent AS one
     WHERE webhook = $webhook AND NOT EXISTS
       (SELECT 1 FROM unsent WHERE webhook = $webhook AND subject = one.subject AND number < one.number)
     ORDER BY due_at, number LIMIT $limit`,
  );
  const selectUnsent = connection.prepare('SELECT 1 FROM unsent WHERE webhook = ? AND subject = ? LIMIT 1');
  const makeAllDue = connection.prepare('UPDATE unsent SET due_at = 0 WHERE webhook = ? AND due_at > 0');
  const removeAll = connection.prepare('DELETE FROM unsent WHERE webhook = ?');

  function statusOf(url: string, reader: Reader): WebhookStatus {
    const { trouble } = reader;
    return { url, ...log.backlogOf(url, reader), ...(trouble && { trouble }) };
  }

  return {
    /** Every webhook that has a secret, and every webhook or event bus that has read the log. */
    list: (): WebhookStatus[] =>
      connection.read(() =>
        ['http', 'arn:']
          .flatMap((prefix) => rows.findAll('reader', { prefix }))
          .map(({ name, value }) => statusOf(name, value as Reader)),
      ),

    /** Stores the results of a batch, unless the webhook was forgotten. */
    settle: (webhook: string, { position: read, trouble, sent, unsent }: Settled): Promise<void> =>
      connection.write(() => {
        const reader = log.readerOf(webhook);
        if (!reader) return;
        const { position = 0 } = reader;
        for (const { number, subject } of sent.filter((event) => event.number <= position)) {
          remove.run(webhook, number);
          setDue.run(0, webhook, subject);
        }
        for (const { number, subject, attempts, dueAt } of unsent) {
          const { changes } = countAttempt.run(attempts, webhook, number);
          if (changes === 0) insert.run({ webhook, number, subject, attempts, position });
          if (attempts > 0) setDue.run(dueAt, webhook, subject);
        }
        rows.putWithin(readerKey(webhook), { ...reader, position: Math.max(position, read), trouble });
      }),

    /** The unsent events that are due next, at most one of each subject. */
    next: (webhook: string, limit: number) =>
      connection.read(() => selectNext.all({ webhook, limit })) as unknown as UnsentEvent[],
    /** The next events of the log, which were never sent. */
    logged: (webhook: string, limit: number): UnsentEvent[] =>
      log.after(log.position(webhook) ?? Number.POSITIVE_INFINITY, webhook, limit).map((event) => {
        const subject = String(JSON.parse(event.envelope).resources?.[0] ?? '');
        return { ...event, subject, attempts: 0, dueAt: 0 };
      }),
    hasUnsent: (webhook: string, subject: string): boolean =>
      connection.read(() => selectUnsent.get(webhook, subject)) !== undefined,
    /** Makes all unsent events due, so that a new run does not wait for the backoff of the previous run. */
    makeAllDue: (webhook: string): Promise<void> => connection.write(() => void makeAllDue.run(webhook)),

    /** Undefined if it has no secret. */
    signing(webhook: string) {
      const { secrets = [], format = 'event' } = connection.read(() => log.readerOf(webhook)) ?? {};
      return secrets.length > 0
        ? { secrets: secrets.map((secret) => new Secret(secret)), format }
        : undefined;
    },

    /**
     * Stores how the webhook's events are signed and written; what is not given stays.
     *
     * @param setup.keepOld whether the secret before signs too
     */
    setUp: (
      webhook: string,
      setup: { secret?: Secret | undefined; format?: WebhookFormat | undefined; keepOld: boolean },
    ): Promise<void> =>
      connection.write(() => {
        const { secret, format, keepOld } = setup;
        const reader = log.readerOf(webhook);
        const before = reader?.secrets ?? [];
        const newest = secret ? [...new Set([secret.reveal(), ...before.slice(0, 1)])] : before;
        const secrets = newest.slice(0, keepOld ? 2 : 1);
        rows.putWithin(readerKey(webhook), { ...reader, secrets, ...(format && { format }) });
      }, durable),

    /** Removes the webhook's secret, its position and its events. @returns the number of events that waited for it */
    forget: (webhook: string): Promise<number> =>
      connection.write(() => {
        const reader = log.readerOf(webhook);
        const waiting = reader ? log.backlogOf(webhook, reader).waiting : 0;
        rows.removeWithin(readerKey(webhook));
        removeAll.run(webhook);
        return waiting;
      }, durable),
  };
}
