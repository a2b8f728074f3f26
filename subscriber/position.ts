import type { AdvertEvent } from '../shared/contract/events.ts';

/** How far the history of one advert has been applied. A greater generation begins the history anew. */
export interface Position {
  readonly generation: number;
  readonly sequence: number;
}

/**
 * - `apply`: the next event of the advert, or the first that you see of it.
 * - `gap`: apply it too; events before it have not come (yet). If you keep only the latest status, ignore gaps. If you need
 *   every single event, ask for a replay: what comes late will be `stale`.
 * - `duplicate`: the event that was applied last, again.
 * - `stale`: older than what was applied last, whether it has been seen before or not.
 */
export type Outcome = 'apply' | 'gap' | 'duplicate' | 'stale';

export interface Comparison {
  readonly outcome: Outcome;
  /**
   * Events that are known to lie between what was applied last and this one; 0 but for a `gap`. In a new generation those
   * are the ones before it: how many the generation before had is not known.
   */
  readonly missing: number;
}

export const positionOf = ({ detail: { metadata } }: AdvertEvent): Position => ({
  generation: metadata.generation,
  sequence: metadata.sequence,
});

/** Which advert an event is about, over all partner accounts: `main/123`. */
export const advertKeyOf = ({ detail: { metadata, data } }: AdvertEvent): string =>
  `${metadata.partnerAccount}/${data.advertId}`;

/** Negative when `a` comes before `b`, 0 when they are the same. */
export const comparePositions = (a: Position, b: Position): number =>
  a.generation - b.generation || a.sequence - b.sequence;

/**
 * What to do with an event.
 *
 * @param applied how far the advert's history has been applied; `undefined` where nothing has
 */
export function compareToApplied(applied: Position | undefined, next: Position): Comparison {
  // The first event that you see of an advert may follow others: you subscribed later, and have missed nothing.
  if (applied === undefined) return { outcome: 'apply', missing: 0 };
  const order = comparePositions(next, applied);
  if (order === 0) return { outcome: 'duplicate', missing: 0 };
  if (order < 0) return { outcome: 'stale', missing: 0 };
  const last = next.generation === applied.generation ? applied.sequence : 0;
  const missing = next.sequence - last - 1;
  return { outcome: missing > 0 ? 'gap' : 'apply', missing };
}
