import { backoffMs } from '../../shared/domain/backoff.ts';
import type { Clock } from '../../shared/domain/clock.ts';
import type { Secret } from '../../shared/domain/secret.ts';
import type { Observer } from '../../shared/ports/observer.ts';
import type { Outbox, Outgoing } from '../../shared/sqlite/outbox.ts';
import { type Attempt, sendToWebhook } from './request.ts';
import { signedHeaders } from './signature.ts';

export interface DeliveryDeps {
  readonly outbox: Pick<Outbox, 'due' | 'nextDue' | 'delivered' | 'failed' | 'giveUp' | 'makeAllDue'>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly observer: Observer;
  /** Events on their way to one webhook at a time, each of another advert. */
  readonly concurrency: number;
  /** How long an event waits for its webhook before it is given up. */
  readonly retentionMs: number;
  readonly send?: typeof sendToWebhook;
}

export interface Webhook {
  readonly url: string;
  readonly secret: Secret;
}

export interface WebhookDelivery {
  readonly url: string;
  /** Something was put into the outbox. */
  wake(): void;
  /** Why nothing arrives; undefined when the last attempt was fine. */
  trouble(): Trouble | undefined;
  /** Ends when what is on its way has ended. */
  stop(): Promise<void>;
}

export interface Trouble {
  readonly reason: string;
  /** Since when nothing has arrived, ms since 1970. */
  readonly since: number;
  /** Nothing more is sent in this run. */
  readonly gone: boolean;
}

/** One event's own: from a second or so to a quarter of an hour between two attempts. */
const eventBackoff = { baseMs: 2_000, capMs: 15 * 60_000 };
/** The whole subscriber's, after attempts that failed in a row: short, so that it gets its events soon after it is back. */
const subscriberBackoff = { baseMs: 1_000, capMs: 60_000 };
/** Retention is looked after this often, and so is what another process has put in. */
const longestLookMs = 5_000;

/**
 * Sends what the outbox holds for one webhook: the events of one advert one after the other, each when the one before
 * has arrived; others beside them. What fails is sent again, with full jitter, until its retention ends.
 */
export function startDelivery({ url, secret }: Webhook, deps: DeliveryDeps): WebhookDelivery {
  const { outbox, clock, random, observer, concurrency, retentionMs, send = sendToWebhook } = deps;
  const stopping = new AbortController();
  const inHand = new Map<number, Promise<void>>();
  let wakeUp = new AbortController();
  let trouble: Trouble | undefined;
  let failedInARow = 0;
  let pausedUntil = 0;

  const wake = () => wakeUp.abort();
  const webhook = shownUrl(url);

  async function deliver(event: Outgoing): Promise<void> {
    const { number, eventId, envelope, attempts } = event;
    const headers = signedHeaders(secret, eventId, envelope, clock.now());
    const attempt = await send({ url, headers, body: envelope, nowMs: clock.now() });
    if (attempt.kind === 'delivered') {
      if (trouble && !trouble.gone) observer.info('the webhook takes events again', { webhook });
      if (!trouble?.gone) trouble = undefined;
      failedInARow = 0;
      pausedUntil = 0;
      await outbox.delivered(number);
      return;
    }
    noteTrouble(attempt, eventId);
    const ownWaitMs = backoffMs(attempts + 1, { ...eventBackoff, random });
    const askedMs = attempt.kind === 'failed' ? (attempt.retryAfterMs ?? 0) : 0;
    // Full jitter may come to nothing; where the subscriber named the time, that is the time.
    await outbox.failed(number, clock.now() + Math.max(askedMs, ownWaitMs, minimumWaitMs));
  }

  function noteTrouble(attempt: Exclude<Attempt, { kind: 'delivered' }>, eventId: string): void {
    const { reason } = attempt;
    if (trouble?.gone) return;
    if (attempt.kind === 'gone') {
      trouble = { reason, since: clock.now(), gone: true };
      observer.error('the webhook is gone: nothing more is sent there in this run; its events are kept', {
        webhook,
        reason,
      });
      return;
    }
    observer.warn('an event did not arrive at the webhook: it is sent again', { webhook, reason, eventId });
    if (attempt.blames === 'event') return;
    trouble = { reason, since: trouble?.since ?? clock.now(), gone: false };
    failedInARow += 1;
    const waitMs = attempt.retryAfterMs ?? backoffMs(failedInARow, { ...subscriberBackoff, random });
    pausedUntil = Math.max(pausedUntil, clock.now() + waitMs);
  }

  function begin(): void {
    if (trouble?.gone || clock.now() < pausedUntil) return;
    // While nothing arrives one is enough to find out whether it does again.
    const room = (trouble ? 1 : concurrency) - inHand.size;
    if (room <= 0) return;
    const due = outbox.due(url, inHand.size + room).filter(({ number }) => !inHand.has(number));
    for (const event of due.slice(0, room)) {
      const work = deliver(event)
        .catch((error: unknown) =>
          observer.error('what came of an event for a webhook could not be stored', { error }),
        )
        .then(() => {
          inHand.delete(event.number);
          wake();
        });
      inHand.set(event.number, work);
    }
  }

  async function giveUpOld(): Promise<void> {
    const events = await outbox.giveUp(url, clock.now() - retentionMs);
    if (events === 0) return;
    const hours = retentionMs / 3_600_000;
    observer.error(`events were given up: they waited for the webhook for more than ${hours} hours`, {
      webhook,
      events,
    });
    // Perhaps there are more than go in one transaction.
    wake();
  }

  function waitMs(): number {
    if (trouble?.gone || inHand.size >= concurrency) return longestLookMs;
    const due = Math.max(outbox.nextDue(url) ?? Number.POSITIVE_INFINITY, pausedUntil);
    // What is due and in hand wakes us when it ends.
    if (inHand.size > 0 && due <= clock.now()) return longestLookMs;
    return Math.min(longestLookMs, Math.max(0, due - clock.now()));
  }

  async function run(): Promise<void> {
    // If it cannot be written, what was put off waits.
    await outbox.makeAllDue(url).catch(() => undefined);
    while (!stopping.signal.aborted) {
      wakeUp = new AbortController();
      try {
        await giveUpOld();
        begin();
        await clock.sleep(waitMs(), wakeUp.signal);
      } catch (error) {
        observer.error('the outbox of a webhook could not be read', { webhook, error });
        await clock.sleep(longestLookMs, stopping.signal);
      }
    }
    await Promise.all(inHand.values());
  }

  const running = run();
  return {
    url,
    wake,
    trouble: () => trouble,
    stop: () => {
      stopping.abort();
      wake();
      return running;
    },
  };
}

const minimumWaitMs = 500;

/** A URL as it may stand in a log: what a query holds may be a secret. */
export function shownUrl(url: string): string {
  const { origin, pathname, search } = new URL(url);
  return `${origin}${pathname}${search === '' ? '' : '?…'}`;
}
