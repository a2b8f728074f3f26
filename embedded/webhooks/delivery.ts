import { backoffMs } from '../../shared/domain/backoff.ts';
import type { Clock } from '../../shared/domain/clock.ts';
import type { Observer } from '../../shared/ports/observer.ts';
import type { Outbox, Outgoing, Signing } from '../../shared/sqlite/outbox.ts';
import { cloudEventOf } from './cloud-event.ts';
import { type Attempt, sendToWebhook } from './request.ts';
import { signedHeaders } from './signature.ts';

export interface DeliveryDeps {
  readonly outbox: Pick<
    Outbox,
    'due' | 'nextDue' | 'delivered' | 'failed' | 'giveUp' | 'makeAllDue' | 'signing'
  >;
  readonly clock: Clock;
  readonly random: () => number;
  readonly observer: Observer;
  /** Number of events sent to one webhook concurrently, each of a different advert. */
  readonly concurrency: number;
  /** How long delivery of an event is attempted before the event is discarded. */
  readonly retentionMs: number;
  readonly send?: typeof sendToWebhook;
}

export interface Webhook {
  readonly url: string;
  /** As stored when the run began. */
  readonly signing: Signing;
}

export interface WebhookDelivery {
  readonly url: string;
  /** Checks the outbox immediately, because something was stored. */
  wake(): void;
  /** Why deliveries fail; undefined when the last attempt succeeded. */
  trouble(): Trouble | undefined;
  /** Starts no more attempts; resolves when the current ones have ended. */
  stop(): Promise<void>;
}

export interface Trouble {
  readonly reason: string;
  /** Since when deliveries have failed, ms since 1970. */
  readonly since: number;
  /** The subscriber wants no more events: this run sends nothing more. */
  readonly gone: boolean;
}

/** Delay between two attempts for one event: from about a second to a quarter of an hour. */
const eventBackoff = { baseMs: 2_000, capMs: 15 * 60_000 };
/**
 * Delay for the whole subscriber after consecutive failures: short, so that it soon gets its events after it
 * recovers.
 */
const subscriberBackoff = { baseMs: 1_000, capMs: 60_000 };
/** Minimum delay, because full jitter may yield almost zero. */
const minimumWaitMs = 500;
/** Maximum interval for discarding old events, and for finding events that another process stored. */
const longestLookMs = 5_000;

/**
 * Sends the events in the outbox of one webhook. Events of one advert are sent in order, each after the previous one
 * has arrived; adverts do not wait for one another. A failed event is sent again until its retention ends.
 */
export function startDelivery({ url, signing: atBegin }: Webhook, deps: DeliveryDeps): WebhookDelivery {
  const { outbox, clock, random, observer, concurrency, retentionMs, send = sendToWebhook } = deps;
  const webhook = shownUrl(url);
  const stopping = new AbortController();
  const inHand = new Map<number, Promise<void>>();
  let wakeUp = new AbortController();
  let trouble: Trouble | undefined;
  let failedInARow = 0;
  let pausedUntil = 0;

  const wake = () => wakeUp.abort();

  async function deliver({ number, eventId, envelope, attempts }: Outgoing): Promise<void> {
    // Read for each attempt, so that a new secret or format takes effect without a restart.
    const { secrets, format } = outbox.signing(url) ?? atBegin;
    const body = format === 'cloudevents' ? cloudEventOf(envelope) : envelope;
    const headers = {
      ...signedHeaders(secrets, eventId, body, clock.now()),
      ...(format === 'cloudevents' && { 'content-type': 'application/cloudevents+json; charset=utf-8' }),
    };
    const attempt = await send({ url, headers, body, nowMs: clock.now() });
    if (attempt.kind === 'delivered') {
      noteSuccess();
      await outbox.delivered(number);
      return;
    }
    noteFailure(attempt, eventId);
    const askedMs = attempt.kind === 'failed' ? (attempt.retryAfterMs ?? 0) : 0;
    const waitMs = Math.max(askedMs, backoffMs(attempts + 1, { ...eventBackoff, random }), minimumWaitMs);
    await outbox.failed(number, clock.now() + waitMs);
  }

  function noteSuccess(): void {
    // This attempt was under way when another one was answered with 410.
    if (trouble?.gone) return;
    if (trouble) observer.info('the webhook takes events again', { webhook });
    trouble = undefined;
    failedInARow = 0;
    pausedUntil = 0;
  }

  function noteFailure(attempt: Exclude<Attempt, { kind: 'delivered' }>, eventId: string): void {
    const { reason } = attempt;
    if (trouble?.gone) return;
    if (attempt.kind === 'gone') {
      trouble = { reason, since: clock.now(), gone: true };
      observer.error('the webhook is gone: this run sends it nothing more, and its events are kept', {
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

  function sendDue(): void {
    if (trouble?.gone || clock.now() < pausedUntil) return;
    // While deliveries fail, one attempt at a time is enough to detect a recovery.
    const room = (trouble ? 1 : concurrency) - inHand.size;
    if (room <= 0) return;
    const due = outbox.due(url, inHand.size + room).filter(({ number }) => !inHand.has(number));
    for (const event of due.slice(0, room)) {
      const work = deliver(event)
        .catch((error: unknown) =>
          observer.error('the result of sending an event to a webhook could not be stored', { error }),
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
    // There may be more than fit into one transaction.
    wake();
  }

  function waitMs(): number {
    if (trouble?.gone || inHand.size >= concurrency) return longestLookMs;
    const due = Math.max(outbox.nextDue(url) ?? Number.POSITIVE_INFINITY, pausedUntil);
    // When the event that is being sent is done, it wakes this loop.
    if (inHand.size > 0 && due <= clock.now()) return longestLookMs;
    return Math.min(longestLookMs, Math.max(0, due - clock.now()));
  }

  async function run(): Promise<void> {
    // If this write fails, postponed events stay postponed.
    await outbox.makeAllDue(url).catch(() => undefined);
    while (!stopping.signal.aborted) {
      wakeUp = new AbortController();
      try {
        await giveUpOld();
        sendDue();
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

/** The URL in a form safe for logs, because its query may contain a secret. */
export function shownUrl(url: string): string {
  const { origin, pathname, search } = new URL(url);
  return `${origin}${pathname}${search === '' ? '' : '?…'}`;
}
