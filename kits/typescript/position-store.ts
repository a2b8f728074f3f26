import * as v from 'valibot';
import { hasFunctions } from './options.ts';
import type { Position } from './position.ts';

/** The exclusive right of one worker to apply events of an advert. */
export interface Claim {
  /** Greatest position to be applied with this claim. */
  readonly position: Position;
  /** A random string, different for every claim. */
  readonly owner: string;
  /** When the claim expires and others may take over, ms since 1970. */
  readonly until: number;
}

export type ClaimAnswer =
  /** Granted. `applied` is the last applied position, or `undefined` if nothing was applied yet. */
  | { readonly kind: 'granted'; readonly applied: Position | undefined }
  /** The claim's position is not newer than the last applied position. */
  | { readonly kind: 'superseded'; readonly applied: Position }
  /** Another worker is applying events of the advert, or died while it did so. */
  | { readonly kind: 'busy'; readonly until: number };

/**
 * Stores each advert's last applied position. `claim` is atomic: if two workers have events of the same advert, only
 * one of them gets the claim.
 */
export interface PositionStore {
  /** @param now ms since 1970; another worker's claim has expired if its `until` is not after `now` */
  claim(key: string, claim: Claim, now: number): Promise<ClaimAnswer>;
  /**
   * Stores `position` as applied, and ends the claim.
   *
   * @returns false if the claim no longer belonged to the owner
   */
  confirm(key: string, owner: string, position: Position): Promise<boolean>;
  /** Ends the claim if it still belongs to the owner; nothing was applied. */
  release(key: string, owner: string): Promise<void>;
}

/**
 * Where positions are stored. `'own-write'`: your own write stores the position (`newerCondition`). Then the kit claims
 * and stores nothing, and calls your function for stale events and duplicates too.
 */
export type Positions = PositionStore | 'own-write';

export const positionsExpected = v.custom(
  (value) => value === 'own-write' || hasFunctions(value, 'claim', 'confirm', 'release'),
  "expected 'own-write' or a position store: createDynamoDbPositions makes one",
);

export const ownWrite: PositionStore = {
  claim: async () => ({ kind: 'granted', applied: undefined }),
  confirm: async () => true,
  release: async () => undefined,
};
