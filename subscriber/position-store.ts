import type { Position } from './position.ts';

/** A hold on one advert while its events are applied. */
export interface Claim {
  /** Greatest position that is to be applied under the claim. */
  readonly position: Position;
  /** A random text, different for every claim. */
  readonly owner: string;
  /** When others may take over, ms since 1970. */
  readonly until: number;
}

export type ClaimAnswer =
  /** Granted; `applied` is how far the history had been applied before, `undefined` for never. */
  | { readonly kind: 'granted'; readonly applied: Position | undefined }
  /** Nothing in the claim is newer than what has been applied. */
  | { readonly kind: 'superseded'; readonly applied: Position }
  /** Another worker is applying events of the advert, or died while it did. */
  | { readonly kind: 'busy'; readonly until: number };

/**
 * Remembers how far each advert's history has been applied. `claim` decides in one atomic step, so that of two
 * workers with events of one advert only one goes ahead.
 */
export interface PositionStore {
  /** @param now ms since 1970; a claim of another worker whose `until` is not after it has run out */
  claim(key: string, claim: Claim, now: number): Promise<ClaimAnswer>;
  /** The history has been applied as far as `position`; the claim ends. False: the claim was no longer the owner's. */
  confirm(key: string, owner: string, position: Position): Promise<boolean>;
  /** Nothing was applied; the claim ends, if it is still the owner's. */
  release(key: string, owner: string): Promise<void>;
}

/**
 * Where positions are kept. `'own-write'`: your own write carries the position (`newerCondition`). Then nothing is claimed
 * or remembered here, and your function is called with stale events and duplicates too.
 */
export type Positions = PositionStore | 'own-write';

const ownWrite: PositionStore = {
  claim: async () => ({ kind: 'granted', applied: undefined }),
  confirm: async () => true,
  release: async () => undefined,
};

export const storeOf = (positions: Positions): PositionStore =>
  positions === 'own-write' ? ownWrite : positions;
