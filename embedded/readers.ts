import { type Clock, clockToleranceMs } from '../shared/domain/clock.ts';
import { type Loop, startLoop } from '../shared/domain/loop.ts';
import type { EventPublisher } from '../shared/ports/event-publisher.ts';
import type { Observer } from '../shared/ports/observer.ts';
import type { LineOutput } from './line-writer.ts';
import { startLines } from './lines.ts';
import { aboutReader, kindOfReader, linesReader } from './state/event-log.ts';
import type { EmbeddedState } from './state/state.ts';
import type { WebhookStatus } from './state/webhooks.ts';
import { startDelivery } from './webhooks/delivery.ts';
import { type Deliver, deliverTo, sendToWebhook } from './webhooks/request.ts';

export interface ReadersOptions {
  readonly state: Pick<EmbeddedState, 'eventLog' | 'webhooks'>;
  /** URLs that have a secret. */
  readonly webhooks: readonly string[];
  readonly output: LineOutput | undefined;
  readonly observer: Observer;
  /** Events that wait longer are given up. */
  readonly retentionHours: number;
  /** The time before this run in which none was at work does not count. Default: 0 */
  readonly idleMs?: number;
  /** If more events wait for one reader, the oldest are given up. */
  readonly maxEvents: number;
  readonly clock: Clock;
  /** Aborted when a signal ends the run. */
  readonly signal: AbortSignal;
  readonly send?: typeof sendToWebhook;
  /** Event buses by ARN. Default: none. */
  readonly eventBuses?: ReadonlyMap<string, Deliver>;
}

const giveUpMs = 60_000;
const lookMs = 50;
/** If no event could be delivered for this long, `run --until-idle` leaves the rest to the next run. */
const patienceMs = 60_000;

/** Starts the readers of a run's event log, to which the bridge publishes: a reader that is slow delays nobody else. */
export async function openReaders(options: ReadersOptions) {
  const { state, output, observer, retentionHours, maxEvents, clock, signal, send = sendToWebhook } = options;
  const { eventLog: log, webhooks } = state;
  const from = output ? await log.begin(linesReader) : 0;
  if (!output) await log.leave(linesReader);
  const lines = output && startLines({ output, from, log, clock, observer, signal });
  const subscribers = new Map(options.eventBuses);
  for (const url of options.webhooks) subscribers.set(url, deliverTo(url, { webhooks, clock, send }));
  for (const url of subscribers.keys()) {
    await log.begin(url);
    await webhooks.makeAllDue(url);
  }
  const deliveries = [...subscribers].map(([url, deliver]) =>
    startDelivery(url, { webhooks, clock, observer, deliver }),
  );
  const readers: Loop[] = lines ? [...deliveries, lines] : deliveries;

  let lookedAt = clock.now() - giveUpMs;
  /** By how much the clock has jumped ahead, before this run or during it: what waited for seconds is not too old for it. */
  let aheadMs = options.idleMs ?? 0;

  /** @returns the reader's position */
  async function giveUp(name: string, after?: number): Promise<number> {
    const before = clock.now() - aheadMs - retentionHours * 3_600_000;
    const { tooOld, tooMany, position } = await log.giveUp(name, { before, maxEvents, after });
    const kind = name === linesReader ? 'standard output' : `the ${kindOfReader(name)}`;
    const about = name === linesReader ? {} : aboutReader(name);
    const old = `events were given up: they waited for ${kind} for more than ${retentionHours} hours`;
    if (tooOld > 0) observer.error(old, { ...about, events: tooOld });
    const many = `events were given up: more than ${maxEvents} waited for ${kind}`;
    if (tooMany > 0) observer.error(many, { ...about, events: tooMany });
    return position;
  }

  /** Also for webhooks and event buses to which this run does not send: their events would be kept for ever. */
  const givingUp = startLoop(clock, async (stopping) => {
    if (stopping.aborted) return undefined;
    const jumpMs = clock.now() - lookedAt - giveUpMs;
    if (Math.abs(jumpMs) > clockToleranceMs) aheadMs = Math.max(0, aheadMs + jumpMs);
    lookedAt = clock.now();
    try {
      for (const { url } of webhooks.list()) await giveUp(url);
      // Its stored position is behind what was written.
      lines?.passOver(await giveUp(linesReader, lines.position()));
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
    /** After the end: why standard output did not take all events; undefined if it did, or nobody reads it any more. */
    unwritten: () => lines?.unwritten(),

    /** Resolves when standard output has all events or takes none, and none is being sent any more; may be called again. */
    stop: () => Promise.all([givingUp, ...readers].map((loop) => loop.stop())),
  };
}
