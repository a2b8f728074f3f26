import { Secret } from '../domain/secret.ts';
import type { EventLog, Unread } from './event-log.ts';
import type { Connection } from './file/connection.ts';

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

/** Format of a webhook's events: `event` (unchanged), or CloudEvents. */
export const webhookFormats = ['event', 'cloudevents'] as const;
export type WebhookFormat = (typeof webhookFormats)[number];

/** Secrets and format of a webhook. */
export interface Signing {
  /** The newest secret first; there are two during a rotation. */
  readonly secrets: readonly [Secret, ...Secret[]];
  readonly format: WebhookFormat;
}

/** Why a webhook takes no events. */
export interface Trouble {
  readonly reason: string;
  /** Since when deliveries have failed, ms since 1970. */
  readonly since: number;
  /** The subscriber wants no more events: a run sends nothing more. */
  readonly gone: boolean;
}

export interface WebhookStatus extends Unread {
  readonly url: string;
  /** Number of events that were never sent, because they were older than the retention. */
  readonly givenUp: number;
  /** Undefined if the last attempt succeeded, or there was none. */
  readonly trouble?: Trouble;
}

/** What an attempt to send an event changes. */
export interface Settled {
  readonly trouble: Trouble | undefined;
  /** An event that has arrived. */
  readonly sent?: Pick<UnsentEvent, 'number' | 'subject'>;
  /** An event that has not arrived, or waits for such an event of its subject (without an attempt). */
  readonly unsent?: Omit<UnsentEvent, 'envelope'>;
}

// A lost secret cannot be recovered, so this write is durable.
const durable = { durable: true };

export type Webhooks = ReturnType<typeof createWebhooks>;

/**
 * The webhooks that read the event log: their secrets, and the events that they did not take. Of the unsent events of
 * one subject (an advert, or a partner account), which are due together, only the oldest is next: they arrive in order.
 */
export function createWebhooks(connection: Connection, log: EventLog) {
  const countAttempt = connection.prepare('UPDATE unsent SET attempts = ? WHERE webhook = ? AND number = ?');
  // Only what has not been given up in the meantime. It is due when the others of its subject are.
  const insert = connection.prepare(
    `INSERT INTO unsent (webhook, number, subject, envelope, at, attempts, due_at)
     SELECT name, number, ?3, envelope, at, ?4,
       ifnull((SELECT max(due_at) FROM unsent WHERE webhook = ?1 AND subject = ?3), 0)
     FROM readers, events WHERE name = ?1 AND number = ?2 AND number > position`,
  );
  const remove = connection.prepare('DELETE FROM unsent WHERE webhook = ? AND number = ?');
  const setDue = connection.prepare('UPDATE unsent SET due_at = ?3 WHERE webhook = ?1 AND subject = ?2');
  const selectNext = connection.prepare(
    `SELECT number, subject, envelope, attempts, due_at AS dueAt FROM unsent AS one
     WHERE webhook = ?1 AND NOT EXISTS
       (SELECT 1 FROM unsent WHERE webhook = ?1 AND subject = one.subject AND number < one.number)
     ORDER BY due_at, number LIMIT ?2`,
  );
  const selectUnsent = connection.prepare(
    'SELECT max(number = ?3) AS itself FROM unsent WHERE webhook = ?1 AND subject = ?2',
  );
  const makeAllDue = connection.prepare('UPDATE unsent SET due_at = 0 WHERE webhook = ? AND due_at > 0');
  const setTrouble = connection.prepare(
    'UPDATE readers SET trouble = ?1 WHERE name = ?2 AND trouble IS NOT ?1',
  );
  const removeOld = connection.prepare('DELETE FROM unsent WHERE webhook = ? AND at < ?');
  const countGivenUp = connection.prepare('UPDATE readers SET given_up = given_up + ? WHERE name = ?');
  const selectAll = connection.prepare(
    `SELECT name AS url, given_up AS givenUp, trouble, (SELECT count(*) FROM unsent WHERE webhook = name) AS unsent,
       (SELECT min(at) FROM unsent WHERE webhook = name) AS oldest
     FROM readers WHERE name LIKE 'http%' ORDER BY name`,
  );
  const selectSigning = connection.prepare(
    'SELECT secret, previous_secret AS previous, format FROM readers WHERE name = ?',
  );
  // On the right side of SET, a column has its previous value.
  const upsertSecret = connection.prepare(
    `INSERT INTO readers (name, secret) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET
       previous_secret = iif(?3 AND secret IS NOT excluded.secret, secret, NULL), secret = excluded.secret`,
  );
  const dropPrevious = connection.prepare('UPDATE readers SET previous_secret = NULL WHERE name = ?');
  const setFormat = connection.prepare('UPDATE readers SET format = ? WHERE name = ?');
  const removeReader = connection.prepare('DELETE FROM readers WHERE name = ?');
  const removeAllUnsent = connection.prepare('DELETE FROM unsent WHERE webhook = ?');

  function list(): WebhookStatus[] {
    type Found = Pick<WebhookStatus, 'url' | 'givenUp'> & {
      readonly trouble: string | null;
      readonly unsent: number;
      readonly oldest: number | null;
    };
    const found = connection.read(() => selectAll.all()) as unknown as Found[];
    return found.map(({ url, givenUp, trouble, unsent, oldest }) => {
      const unread = log.unread(url);
      const since = Math.min(oldest ?? Number.POSITIVE_INFINITY, unread.oldest ?? Number.POSITIVE_INFINITY);
      return {
        url,
        givenUp,
        waiting: unread.waiting + unsent,
        ...(since < Number.POSITIVE_INFINITY && { oldest: since }),
        ...(trouble !== null && { trouble: JSON.parse(trouble) as Trouble }),
      };
    });
  }

  return {
    /** Every webhook that has a secret, or has read the log. */
    list,

    settle: (webhook: string, { trouble, sent, unsent }: Settled): Promise<void> =>
      connection.write(() => {
        if (sent) {
          remove.run(webhook, sent.number);
          setDue.run(webhook, sent.subject, 0);
        }
        if (unsent) {
          const { number, subject, attempts, dueAt } = unsent;
          const { changes } = countAttempt.run(attempts, webhook, number);
          if (changes === 0) insert.run(webhook, number, subject, attempts);
          if (attempts > 0) setDue.run(webhook, subject, dueAt);
        }
        setTrouble.run(trouble ? JSON.stringify(trouble) : null, webhook);
      }),

    /** The unsent events that are due next, at most one of each subject. */
    next: (webhook: string, limit: number) =>
      connection.read(() => selectNext.all(webhook, limit)) as unknown as UnsentEvent[],
    /** Whether the event itself is unsent, or others of its subject are. */
    unsentOf(
      webhook: string,
      { subject, number }: Pick<UnsentEvent, 'subject' | 'number'>,
    ): 'itself' | 'others' | 'none' {
      const row = connection.read(() => selectUnsent.get(webhook, subject, number));
      const { itself } = row as { itself: number | null };
      if (itself === null) return 'none';
      return itself === 1 ? 'itself' : 'others';
    },
    /** Makes all unsent events due, so that a new run does not wait for the backoff of the previous run. */
    makeAllDue: (webhook: string): Promise<void> => connection.write(() => void makeAllDue.run(webhook)),

    /** Gives up the events from before a given time. @returns their number */
    async giveUp(webhook: string, before: number): Promise<number> {
      const unsent = await connection.write(() => {
        const removed = Number(removeOld.run(webhook, before).changes);
        if (removed === 0) return 0;
        countGivenUp.run(removed, webhook);
        return removed;
      });
      return unsent + (await log.giveUp(webhook, before));
    },

    /** Undefined if no secret is stored. */
    signing(webhook: string): Signing | undefined {
      const row = connection.read(() => selectSigning.get(webhook)) as
        | Record<'secret' | 'previous' | 'format', string | null>
        | undefined;
      if (typeof row?.secret !== 'string') return undefined;
      const older = typeof row.previous === 'string' ? [new Secret(row.previous)] : [];
      const format = row.format === 'cloudevents' ? 'cloudevents' : 'event';
      return { secrets: [new Secret(row.secret), ...older], format };
    },

    /** Stores a new secret. @param keepOld whether the previous secret signs too */
    async writeSecret(webhook: string, secret: Secret, { keepOld = false } = {}): Promise<void> {
      await connection.write(() => upsertSecret.run(webhook, secret.reveal(), keepOld ? 1 : 0), durable);
    },
    /** From now on, only the newest secret signs. */
    async dropOldSecret(webhook: string): Promise<void> {
      await connection.write(() => dropPrevious.run(webhook), durable);
    },
    /** For a webhook whose secret is stored. */
    async writeFormat(webhook: string, format: WebhookFormat): Promise<void> {
      await connection.write(() => setFormat.run(format, webhook), durable);
    },

    /** Removes the webhook's secret, its position and its events. @returns the number of events that waited for it */
    forget: (webhook: string): Promise<number> => {
      const waiting = list().find(({ url }) => url === webhook)?.waiting ?? 0;
      return connection.write(() => {
        removeReader.run(webhook);
        removeAllUnsent.run(webhook);
        return waiting;
      }, durable);
    },
  };
}
