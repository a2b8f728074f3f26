import type { AdvertEvent } from '../../shared/contract/events.ts';
import { advertKeyOf, comparePositions, positionOf } from '../position.ts';
import { type AdvertFields, anAdvertStatusChanged, anAdvertUnavailable } from './fixtures.ts';

/**
 * The events of one advert that goes through these statuses, as the bridge would number them; `null` is an advert that
 * the service does not know any more.
 */
export function anAdvertHistory(
  statuses: readonly (string | null)[],
  fields: Omit<AdvertFields, 'sequence' | 'previousStatus' | 'observedAt' | 'listedAt'> = {},
): AdvertEvent[] {
  return statuses.map((status, index) => {
    const common = { ...fields, sequence: index + 1, previousStatus: statuses[index - 1] ?? null };
    return status === null ? anAdvertUnavailable(common) : anAdvertStatusChanged({ ...common, status });
  });
}

export interface PlayerOptions {
  /** The same seed, the same deliveries. */
  readonly seed: number;
  /** Share of the events that come a second time, 0 to 1; default 0.2. */
  readonly duplicates?: number;
  /** By how many places an event may come too early or too late; default all, 0 keeps the order. */
  readonly disorder?: number;
  /** Events in one delivery at most; default 10, as a queue hands them to a Lambda function. */
  readonly batchSize?: number;
}

/**
 * The deliveries in which a bus and a queue could hand over these events: each at least once, some twice, out of order.
 * A subscriber that is right ends at {@link latestStatuses}, whatever the seed.
 */
export function playEvents<E extends AdvertEvent>(events: readonly E[], options: PlayerOptions): E[][] {
  const { seed, duplicates = 0.2, disorder = Number.POSITIVE_INFINITY, batchSize = 10 } = options;
  const random = seededRandom(seed);
  const copies = events.flatMap((event) => (random() < duplicates ? [event, event] : [event]));
  const reach = Math.min(disorder, copies.length);
  const delivered = copies
    // The copy at place n gets a place in [n, n + reach], so that none overtakes more than `reach` others.
    .map((event, place) => ({ event, place: place + random() * reach }))
    .sort((a, b) => a.place - b.place)
    .map(({ event }) => event);
  const batches: E[][] = [];
  while (delivered.length > 0) batches.push(delivered.splice(0, 1 + Math.floor(random() * batchSize)));
  return batches;
}

/** What a subscriber must end with: for each advert (`main/123`) the status of its newest event. */
export function latestStatuses(events: readonly AdvertEvent[]): Map<string, string | null> {
  const sorted = [...events].sort((a, b) => comparePositions(positionOf(a), positionOf(b)));
  return new Map(sorted.map((event) => [advertKeyOf(event), event.detail.data.status]));
}

/** mulberry32: enough for an order of events, and the same on every machine. */
export function seededRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
