import type { AdvertEvent } from '../../shared/contract/events.ts';
import { stackName } from '../../shared/contract/names.ts';

/** A place in the history of one advert. A greater generation starts the history again. */
export interface Position {
  readonly generation: number;
  readonly sequence: number;
}

/**
 * - `apply`: the next event of the advert, or the first one that you receive.
 * - `gap`: apply it too; earlier events have not arrived (yet). If you keep only the latest status, ignore gaps. If you
 *   need every single event, ask for a replay, because a late event is `stale`.
 * - `duplicate`: a copy of the last applied event.
 * - `stale`: older than the last applied event, whether or not you have received it before.
 */
export type Outcome = 'apply' | 'gap' | 'duplicate' | 'stale';

export interface Comparison {
  /** `apply` and `gap`: apply the event; `duplicate` and `stale`: it was applied before, or a newer one was. */
  readonly outcome: Outcome;
  /**
   * Number of missing events between the last applied event and this one; 0 unless the outcome is `gap`. At the
   * beginning of a new generation, it counts only missing events of that generation: the length of the previous one is
   * not known.
   */
  readonly missing: number;
}

export const positionOf = ({ detail: { metadata } }: AdvertEvent): Position => ({
  generation: metadata.generation,
  sequence: metadata.sequence,
});

/**
 * Key of the event's advert, unique across all partner accounts and bridges: `main/123`, or `Shop/main/123` for a bridge
 * whose name is not `AdvertBridge`. Events of schema version 1.0 do not name their bridge, and have keys like `main/123`.
 */
export function advertKeyOf({ detail: { metadata, data } }: AdvertEvent): string {
  const { bridge = stackName, partnerAccount } = metadata;
  const key = `${partnerAccount}/${data.advertId}`;
  return bridge === stackName ? key : `${bridge}/${key}`;
}

/** Negative if `a` comes before `b`, 0 if they are equal. */
export const comparePositions = (a: Position, b: Position): number =>
  a.generation - b.generation || a.sequence - b.sequence;

/**
 * Decides what to do with an event.
 *
 * @param applied the advert's last applied position; `undefined` if nothing was applied yet
 */
export function compareToApplied(applied: Position | undefined, next: Position): Comparison {
  // The first event that you receive of an advert may not be the first one published. It is no gap: you subscribed
  // later.
  if (applied === undefined) return { outcome: 'apply', missing: 0 };
  const order = comparePositions(next, applied);
  if (order === 0) return { outcome: 'duplicate', missing: 0 };
  if (order < 0) return { outcome: 'stale', missing: 0 };
  const last = next.generation === applied.generation ? applied.sequence : 0;
  const missing = next.sequence - last - 1;
  return { outcome: missing > 0 ? 'gap' : 'apply', missing };
}
