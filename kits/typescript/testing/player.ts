import * as v from 'valibot';
import type { AdvertEvent } from '../../../shared/contract/events.ts';
import { checkOptions, optionalNumberFrom } from '../options.ts';
import { advertKeyOf, comparePositions, positionOf } from '../position.ts';
import { type AdvertFields, anAdvertStatusChanged, anAdvertUnavailable } from './fixtures.ts';

/**
 * The events of one advert that has these statuses one after the other, numbered as the bridge would number them.
 * `null` means that the service no longer knows the advert.
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
  /** The same seed gives the same deliveries. */
  readonly seed: number;
  /** Share of the events that are delivered twice, 0 to 1; default 0.2. */
  readonly duplicates?: number;
  /** Maximum number of events in one delivery. Default 10, like a Lambda function's default batch size for a queue. */
  readonly batchSize?: number;
}

/**
 * Possible deliveries of these events by a bus and a queue: each event at least once, some twice, out of order. A
 * correct subscriber ends with {@link latestStatuses}, whatever the seed.
 */
export function playEvents<E extends AdvertEvent>(events: readonly E[], options: PlayerOptions): E[][] {
  const share = 'expected a number from 0 to 1';
  checkOptions('playEvents', options, {
    seed: v.pipe(v.number('expected a whole number'), v.safeInteger('expected a whole number')),
    duplicates: v.optional(v.pipe(v.number(share), v.minValue(0, share), v.maxValue(1, share))),
    batchSize: optionalNumberFrom(1),
  });
  const { seed, duplicates = 0.2, batchSize = 10 } = options;
  const random = seededRandom(seed);
  const copies = events.flatMap((event) => (random() < duplicates ? [event, event] : [event]));
  const delivered = copies
    .map((event, place) => ({ event, place: place + random() * copies.length }))
    .sort((a, b) => a.place - b.place)
    .map(({ event }) => event);
  const batches: E[][] = [];
  while (delivered.length > 0) batches.push(delivered.splice(0, 1 + Math.floor(random() * batchSize)));
  return batches;
}

/** The state in which a subscriber must end: for each advert (`main/123`), the status of its newest event. */
export function latestStatuses(events: readonly AdvertEvent[]): Map<string, string | null> {
  const sorted = [...events].sort((a, b) => comparePositions(positionOf(a), positionOf(b)));
  return new Map(sorted.map((event) => [advertKeyOf(event), event.detail.data.status]));
}

/** mulberry32: good enough to shuffle events, and the same on every machine. */
export function seededRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
