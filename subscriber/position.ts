import type { AdvertEvent } from '../shared/contract/events.ts';

/** How far the history of one advert has been applied. A greater generation begins the history anew. */
export interface Position {
  readonly generation: number;
  readonly sequence: number;
}

/**
 * - `apply`: the next event of the advert, or the first that you see of it.
 * - `gap`: to be applied too, but events before it have not come (yet). The status it carries is right; who needs each
 *   single change, and not only the latest status, asks for a replay. What comes late will be `stale`.
 * - `duplicate`: the event that was applied last, again.
 * - `stale`: older than what was applied last, whether it has been seen before or not.
 */
export type Outcome = 'apply' | 'gap' | 'duplicate' | 'stale';

export interface Judgement {
  readonly outcome: Outcome;
  /** How many events of this generation lie between what was applied last and this one; 0 but for a `gap`. */
  readonly missing: number;
}

export const positionOf = ({ detail: { metadata } }: AdvertEvent): Position => ({
  generation: metadata.generation,
  sequence: metadata.sequence,
});

/** Which advert an event is about, over all partner accounts: `main/123`. */
export const advertKeyOf = ({ detail: { metadata, data } }: AdvertEvent): string =>
  `${metadata.partnerAccount}/${data.advertId}`;

/** Less than 0, 0, or more than 0: for `sort`. */
export const comparePositions = (a: Position, b: Position): number =>
  a.generation - b.generation || a.sequence - b.sequence;

/**
 * What to do with an event.
 *
 * @param applied how far the advert's history has been applied; `undefined` where nothing has
 */
export function judge(applied: Position | undefined, next: Position): Judgement {
  // Who sees an advert for the first time may have subscribed late: what came before is not missed.
  if (applied === undefined) return { outcome: 'apply', missing: 0 };
  const order = comparePositions(next, applied);
  if (order === 0) return { outcome: 'duplicate', missing: 0 };
  if (order < 0) return { outcome: 'stale', missing: 0 };
  const last = next.generation === applied.generation ? applied.sequence : 0;
  const missing = next.sequence - last - 1;
  return { outcome: missing > 0 ? 'gap' : 'apply', missing };
}
