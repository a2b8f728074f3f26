import { type Clock, isLasting } from '../../shared/domain/clock.ts';
import { backoffMs, forEachConcurrent } from '../../shared/domain/concurrency.ts';
import { type Loop, startLoop } from '../../shared/domain/loop.ts';
import type { Observer } from '../../shared/ports/observer.ts';
import { aboutReader, kindOfReader, type Trouble } from '../state/event-log.ts';
import type { UnsentEvent, Webhooks } from '../state/webhooks.ts';
import type { Deliver, Failure } from './request.ts';

export interface DeliveryDeps {
  readonly webhooks: Webhooks;
  readonly clock: Clock;
  readonly observer: Observer;
  readonly deliver: Deliver;
}

/** Number of concurrent requests to one webhook, each with an event of another advert. */
const concurrency = 8;
/** Number of events whose results are stored together; after a crash, they are sent again. */
const batchSize = 64;
/** After this time, a batch begins no further event: with the last attempts, it ends within half a minute. */
const batchMs = 10_000;
/** Delay between two attempts for one refused event: from about a second to a quarter of an hour. */
const eventBackoff = { baseMs: 2_000, capMs: 15 * 60_000, random: () => Math.random() };
/** Delay for the whole subscriber after consecutive failures. */
const subscriberBackoff = { ...eventBackoff, baseMs: 1_000, capMs: 60_000 };
/** If events of so many subjects are refused with none accepted in between, any other would be, as with another secret. */
const refusedAlike = 3;
/** Minimum delay, because full jitter may yield almost zero. */
const minimumWaitMs = 500;
/** Maximum interval for finding events that another process appended. */
const longestLookMs = 5_000;

/**
 * Sends the events of the log to one webhook or event bus, a batch at a time. Events of one subject (an advert, or a partner account)
 * are sent in order, each after the previous one has arrived. An event that was not taken, and what follows it of its
 * subject, becomes an unsent event, which is sent again. The reader's position in the log must be stored before.
 */
export function startDelivery(url: string, deps: DeliveryDeps): Loop {
  const { webhooks, clock, observer, deliver } = deps;
  const kind = kindOfReader(url);
  const about = aboutReader(url);
  let trouble: Trouble | undefined;
  let failedInARow = 0;
  /** Whose events were refused since one was accepted. */
  const refused = new Set<string>();
  let pausedUntil = 0;
  /** The longest wait of this run so far; the run before left none (`makeAllDue`). */
  let longestMs = eventBackoff.capMs;
  const isWaiting = (untilMs: number): boolean => isLasting(untilMs, longestMs, clock.now());
  const isPaused = (): boolean => trouble?.gone === true || isWaiting(pausedUntil);

  /** @returns whether there was anything to send */
  async function sendBatch(stopping: AbortSignal): Promise<boolean> {
    // While deliveries fail, one attempt at a time is enough to detect a recovery: with an event that was never sent, if
    // there is one, because those that were sent may be all that is refused.
    const room = trouble ? 1 : batchSize;
    const again = webhooks.next(url, room).filter(({ dueAt }) => !isWaiting(dueAt));
    const logged = webhooks.logged(url, trouble ? 1 : room - again.length);
    const due = again.slice(0, room - logged.length);
    if (due.length + logged.length === 0) return false;
    const blocked = logged.filter(({ subject }) => webhooks.hasUnsent(url, subject));
    const free = logged.filter((event) => !blocked.includes(event));
    const endsAt = clock.now() + batchMs;
    const mustWait = () => stopping.aborted || isPaused() || clock.now() >= endsAt;
    const sent: UnsentEvent[] = [];
    const unsent = [...blocked];
    const bySubject = Map.groupBy([...due, ...free], ({ subject }) => subject);
    await forEachConcurrent([...bySubject.values()], concurrency, async (events) => {
      for (const [index, event] of events.entries()) {
        const failed = mustWait() ? event : await attempt(event);
        if (failed) return void unsent.push(failed, ...events.slice(index + 1));
        sent.push(event);
      }
    });
    await webhooks.settle(url, { position: logged.at(-1)?.number ?? 0, trouble, sent, unsent });
    return true;
  }

  /** @returns the event as it is sent again; undefined when it has arrived */
  async function attempt(event: UnsentEvent): Promise<UnsentEvent | undefined> {
    const failure = await deliver(event.envelope);
    if (failure === 'forgotten') return event;
    const attempts = event.attempts + 1;
    if (failure) return { ...event, attempts, dueAt: noteFailure(failure, event, attempts) };
    noteSuccess();
    return undefined;
  }

  function noteSuccess(): void {
    // This attempt was under way when another one was answered with 410.
    if (trouble?.gone) return;
    if (trouble) observer.info(`the ${kind} takes events again`, about);
    trouble = undefined;
    failedInARow = 0;
    refused.clear();
    pausedUntil = 0;
  }

  /** @returns when the event is sent again */
  function noteFailure(failure: Failure, { envelope, subject }: UnsentEvent, attempts: number): number {
    if (trouble?.gone) return 0;
    const { reason, blames, retryAfterMs } = failure;
    const { eventId } = JSON.parse(envelope).detail.metadata;
    const since = trouble?.since ?? clock.now();
    if (blames === 'gone') {
      trouble = { reason, since, gone: true };
      pausedUntil = Number.POSITIVE_INFINITY;
      const message = 'the webhook is gone: this run sends it nothing more, and its events are kept';
      observer.error(message, { ...about, reason });
      return 0;
    }
    observer.warn(`an event did not arrive at the ${kind}: it is sent again`, { ...about, reason, eventId });
    longestMs = Math.max(longestMs, retryAfterMs ?? 0);
    const afterMs = (failures: number, backoff: typeof eventBackoff): number =>
      clock.now() + Math.max(retryAfterMs ?? backoffMs(failures, backoff), minimumWaitMs);
    if (blames === 'event' && refused.add(subject).size < refusedAlike)
      return afterMs(attempts, eventBackoff);
    trouble = { reason, since, gone: false };
    failedInARow += 1;
    const untilMs = afterMs(failedInARow, subscriberBackoff);
    pausedUntil = isPaused() ? Math.max(pausedUntil, untilMs) : untilMs;
    return pausedUntil;
  }

  return startLoop(clock, async (stopping) => {
    if (stopping.aborted) return undefined;
    try {
      if (!isPaused() && (await sendBatch(stopping))) return 0;
      const [next] = webhooks.next(url, 1);
      const lookAt = isPaused() ? pausedUntil : (next?.dueAt ?? Number.POSITIVE_INFINITY);
      return Math.max(1, Math.min(longestLookMs, lookAt - clock.now()));
    } catch (error) {
      const message = `the events for a ${kind} could not be read, or their results stored`;
      observer.error(message, { ...about, error });
      return longestLookMs;
    }
  });
}
