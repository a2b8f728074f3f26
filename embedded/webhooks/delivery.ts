import type { Clock } from '../../shared/domain/clock.ts';
import { backoffMs, type Loop, startLoop } from '../../shared/domain/concurrency.ts';
import { shownUrl } from '../../shared/domain/text.ts';
import type { Observer } from '../../shared/ports/observer.ts';
import type { EventLog, Trouble } from '../../shared/sqlite/event-log.ts';
import type { Signing, UnsentEvent, Webhooks } from '../../shared/sqlite/webhooks.ts';
import { type Attempt, cloudEventOf, type sendToWebhook, signedHeaders } from './request.ts';

export interface DeliveryDeps {
  readonly log: EventLog;
  readonly webhooks: Webhooks;
  readonly clock: Clock;
  readonly observer: Observer;
  readonly send: typeof sendToWebhook;
}

export interface Webhook {
  readonly url: string;
  /** As stored when the run began. */
  readonly signing: Signing;
}

/** Number of concurrent requests to one webhook, each with an event of another advert. */
const concurrency = 8;
/** Delay between two attempts for one refused event: from about a second to a quarter of an hour. */
const eventBackoff = { baseMs: 2_000, capMs: 15 * 60_000, random: () => Math.random() };
/** Delay for the whole subscriber after consecutive failures. */
const subscriberBackoff = { ...eventBackoff, baseMs: 1_000, capMs: 60_000 };
/** Minimum delay, because full jitter may yield almost zero. */
const minimumWaitMs = 500;
/** Maximum interval for finding events that another process appended. */
const longestLookMs = 5_000;

type Pending = Pick<UnsentEvent, 'number' | 'subject' | 'envelope' | 'attempts'>;

/**
 * Sends the events of the log to one webhook. Events of one subject (an advert, or a partner account) are sent in order,
 * each after the previous one has arrived. An event that was not taken, and what follows it of its subject, becomes an
 * unsent event, which is sent again. The webhook's position in the log must be stored before.
 */
export function startDelivery({ url, signing: atBegin }: Webhook, deps: DeliveryDeps): Loop {
  const { log, webhooks, clock, observer, send } = deps;
  const webhook = shownUrl(url);
  /** The event of each subject that is being sent. */
  const inHand = new Map<string, Promise<void>>();
  /** Numbers of events that were read from the log and are neither sent nor stored as unsent. */
  const unsettled = new Set<number>();
  let readTo = 0;
  let trouble: Trouble | undefined;
  let failedInARow = 0;
  let pausedUntil = 0;

  /** Stores how far everything is settled. */
  function advance(): void {
    const position = Math.min(readTo, ...[...unsettled].map((number) => number - 1));
    // If this fails, the next advance stores it.
    if (position > (log.position(url) ?? 0)) log.advance(url, position).catch(() => undefined);
  }

  async function deliver(event: Pending): Promise<void> {
    // Read for each attempt, so that a new secret or format takes effect without a restart.
    const { secrets, format } = webhooks.signing(url) ?? atBegin;
    const body = format === 'cloudevents' ? cloudEventOf(event.envelope) : event.envelope;
    const { eventId } = JSON.parse(event.envelope).detail.metadata;
    const headers = {
      ...signedHeaders(secrets, eventId, body, clock.now()),
      ...(format === 'cloudevents' && { 'content-type': 'application/cloudevents+json; charset=utf-8' }),
    };
    const attempt = await send({ url, headers, body, nowMs: clock.now() });
    if (attempt.kind === 'delivered') {
      noteSuccess();
      await webhooks.settle(url, { trouble, sent: event });
    } else {
      const attempts = event.attempts + 1;
      const dueAt = noteFailure(attempt, eventId, attempts);
      await webhooks.settle(url, { trouble, unsent: { ...event, attempts, dueAt } });
    }
  }

  function noteSuccess(): void {
    // This attempt was under way when another one was answered with 410.
    if (trouble?.gone) return;
    if (trouble) observer.info('the webhook takes events again', { webhook });
    trouble = undefined;
    failedInARow = 0;
    pausedUntil = 0;
  }

  /** @returns when the event is sent again */
  function noteFailure(
    attempt: Exclude<Attempt, { kind: 'delivered' }>,
    eventId: string,
    attempts: number,
  ): number {
    const { reason } = attempt;
    if (trouble?.gone) return 0;
    if (attempt.kind === 'gone') {
      trouble = { reason, since: trouble?.since ?? clock.now(), gone: true };
      observer.error('the webhook is gone: this run sends it nothing more, and its events are kept', {
        webhook,
        reason,
      });
      return 0;
    }
    observer.warn('an event did not arrive at the webhook: it is sent again', { webhook, reason, eventId });
    if (attempt.blames === 'event') {
      const waitMs = attempt.retryAfterMs ?? backoffMs(attempts, eventBackoff);
      return clock.now() + Math.max(waitMs, minimumWaitMs);
    }
    trouble = { reason, since: trouble?.since ?? clock.now(), gone: false };
    failedInARow += 1;
    const waitMs = attempt.retryAfterMs ?? backoffMs(failedInARow, subscriberBackoff);
    pausedUntil = Math.max(pausedUntil, clock.now() + Math.max(waitMs, minimumWaitMs));
    return pausedUntil;
  }

  async function settled(number: number, work: Promise<void>): Promise<void> {
    try {
      await work;
    } catch (error) {
      // Reads the event again. Those after it may be sent twice.
      if (unsettled.has(number)) readTo = Math.min(readTo, number - 1);
      observer.error('the result of sending an event to a webhook could not be stored', { error });
    }
    unsettled.delete(number);
    loop.wake();
  }

  function begin(event: Pending): void {
    const work = settled(event.number, deliver(event)).then(() => {
      inHand.delete(event.subject);
      loop.wake();
    });
    inHand.set(event.subject, work);
  }

  // While deliveries fail, one attempt at a time is enough to detect a recovery.
  const room = (): number => (trouble ? 1 : concurrency) - inHand.size;

  /** @returns when to look again, ms since 1970 */
  function sendDue(): number {
    const latest = clock.now() + longestLookMs;
    if (trouble?.gone) return latest;
    if (clock.now() < pausedUntil) return Math.min(latest, pausedUntil);
    const isFree = ({ subject }: Pending) => !inHand.has(subject);
    const next = webhooks.next(url, concurrency + inHand.size);
    for (const event of next) if (isFree(event) && event.dueAt <= clock.now() && room() > 0) begin(event);
    readTo = Math.max(readTo, log.position(url) ?? 0);
    while (room() > 0) {
      const [event] = log.after(readTo, url, 1);
      if (!event) break;
      readLogged(event);
    }
    // An event that is being sent wakes this loop when it is settled.
    return room() > 0 ? Math.min(latest, next.find(isFree)?.dueAt ?? latest) : latest;
  }

  function readLogged({ number, envelope }: { readonly number: number; readonly envelope: string }): void {
    const subject = String(JSON.parse(envelope).resources?.[0] ?? '');
    const event = { number, subject, envelope, attempts: 0 };
    const unsent = webhooks.unsentOf(url, event);
    readTo = number;
    // Stored as unsent by a process that ended before it stored its position.
    if (unsent === 'itself') return;

    unsettled.add(number);
    if (!inHand.has(subject) && unsent === 'none') begin(event);
    else void settled(number, webhooks.settle(url, { trouble, unsent: { ...event, dueAt: 0 } }));
  }

  const loop = startLoop(clock, async (isStopping) => {
    if (isStopping) await Promise.all(inHand.values());
    try {
      const nextLook = isStopping ? undefined : sendDue();
      advance();
      return nextLook && Math.max(1, nextLook - clock.now());
    } catch (error) {
      observer.error('the events for a webhook could not be read', { webhook, error });
      return isStopping ? undefined : longestLookMs;
    }
  });
  return loop;
}
