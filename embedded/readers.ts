import type { Writable } from 'node:stream';
import type { Clock } from '../shared/domain/clock.ts';
import { type Loop, startLoop } from '../shared/domain/loop.ts';
import { linesOf } from '../shared/domain/text.ts';
import type { EventPublisher } from '../shared/ports/event-publisher.ts';
import type { Observer } from '../shared/ports/observer.ts';
import { type EventLog, kindOfReader, shownUrl } from '../shared/sqlite/event-log.ts';
import type { EmbeddedState } from '../shared/sqlite/state.ts';
import type { WebhookStatus } from '../shared/sqlite/webhooks.ts';
import { type DeliveryDeps, startDelivery } from './webhooks/delivery.ts';
import { type Deliver, deliverTo, sendToWebhook } from './webhooks/request.ts';

export interface ReadersOptions {
  readonly state: Pick<EmbeddedState, 'eventLog' | 'webhooks'>;
  /** URLs that have a secret. */
  readonly webhooks: readonly string[];
  /** Standard output, if events are written to it. */
  readonly output: Writable | undefined;
  readonly observer: Observer;
  readonly retentionHours: number;
  readonly clock: Clock;
  readonly send?: typeof sendToWebhook;
  /** Event buses by ARN. Default: none. */
  readonly eventBuses?: ReadonlyMap<string, Deliver>;
}

/** The reader of the log that standard output stands for. */
const linesReader = 'stdout';
/** Readers are woken when something is appended; this is for what another process appends. */
const longestLookMs = 5_000;
const giveUpMs = 60_000;
const lookMs = 50;
/** If no event could be delivered for this long, `run --until-idle` leaves the rest to the next run. */
const patienceMs = 60_000;

/** Starts the readers of a run's event log, to which the bridge publishes: a reader that is slow delays nobody else. */
export async function openReaders(options: ReadersOptions) {
  const { state, output, observer, retentionHours, clock, send = sendToWebhook } = options;
  const { eventLog: log, webhooks } = state;
  const positionOfLines = output ? await log.begin(linesReader) : await log.leave(linesReader);
  const subscribers = new Map(options.eventBuses);
  for (const url of options.webhooks) subscribers.set(url, deliverTo(url, { webhooks, clock, send }));
  for (const url of subscribers.keys()) {
    await log.begin(url);
    await webhooks.makeAllDue(url);
  }
  const readers = [...subscribers].map(([url, deliver]) =>
    startDelivery(url, { webhooks, clock, observer, deliver }),
  );
  if (output) readers.push(startLines(output, positionOfLines ?? 0, { log, clock, observer }));

  /** Gives up old events of every webhook and event bus, also of those that this run does not send to: they would be kept for ever. */
  const givingUp = startLoop(clock, async (stopping) => {
    if (stopping.aborted) return undefined;
    const before = clock.now() - retentionHours * 3_600_000;
    try {
      for (const { url } of webhooks.list()) {
        const events = await log.giveUp(url, before);
        const kind = kindOfReader(url);
        const message = `events were given up: they waited for the ${kind} for more than ${retentionHours} hours`;
        if (events > 0)
          observer.error(message, { [kind === 'webhook' ? kind : 'eventBus']: shownUrl(url), events });
      }
      await log.giveUp(linesReader, before);
    } catch (error) {
      observer.error('old events could not be given up', { error });
    }
    return giveUpMs;
  });
  const undelivered = (): WebhookStatus[] =>
    webhooks.list().filter(({ url, waiting }) => subscribers.has(url) && waiting > 0);

  const events: EventPublisher = {
    async publish(envelope) {
      await log.append(envelope);
      for (const reader of readers) reader.wake();
    },
  };
  return {
    events,

    /** Resolves when no event waits for a webhook or event bus that still accepts events. */
    async untilDelivered(signal: AbortSignal): Promise<void> {
      let least = Number.POSITIVE_INFINITY;
      for (let movedAt = clock.now(); !signal.aborted; await clock.sleep(lookMs, signal)) {
        const waiting = undelivered()
          .filter(({ trouble }) => !trouble?.gone)
          .reduce((sum, webhook) => sum + webhook.waiting, 0);
        if (waiting < least) [least, movedAt] = [waiting, clock.now()];
        if (waiting === 0 || clock.now() - movedAt > patienceMs) return;
      }
    },

    /** The webhooks and event buses that have not received all of their events. */
    undelivered,

    /** Resolves when standard output has all events, and none is being sent any more; may be called again. */
    stop: () => Promise.all([givingUp, ...readers].map((loop) => loop.stop())),
  };
}

interface LinesDeps extends Pick<DeliveryDeps, 'clock' | 'observer'> {
  readonly log: Pick<EventLog, 'after' | 'advance'>;
}

/**
 * Writes the events of the log to a stream, one per line. Once stopped, ends when the rest is written, or the stream closed.
 *
 * @param from the stored position
 */
export function startLines(output: Writable, from: number, { log, clock, observer }: LinesDeps): Loop {
  let position = from;
  let isClosed = false;
  output.on('error', () => {
    isClosed = true;
  });

  return startLoop(clock, async (stopping) => {
    try {
      const events = log.after(position, linesReader);
      const last = events.at(-1);
      if (isClosed || (!last && stopping.aborted)) return undefined;
      if (!last) return longestLookMs;
      const text = linesOf(events.map(({ envelope }) => envelope));
      if (await new Promise((resolve) => output.write(text, resolve))) return undefined;
      position = last.number;
      await log.advance(linesReader, position);
      return 0;
    } catch (error) {
      // If only the position could not be stored, the next one is.
      observer.error('the events for standard output could not be read', { error });
      return stopping.aborted ? undefined : longestLookMs;
    }
  });
}
