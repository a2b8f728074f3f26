import { comparePositions, type Position } from '../position.ts';
import type { Claim, PositionStore } from '../position-store.ts';

/** A position store in the memory of this process. */
export function createInMemoryPositions(): PositionStore {
  const applied = new Map<string, Position>();
  const claims = new Map<string, Claim>();

  return {
    async claim(key, claim, now) {
      const before = applied.get(key);
      if (before && comparePositions(claim.position, before) <= 0) {
        return { kind: 'superseded', applied: before };
      }
      const held = claims.get(key);
      if (held && held.until > now) return { kind: 'busy', until: held.until };
      claims.set(key, claim);
      return { kind: 'granted', applied: before };
    },
    async confirm(key, owner, position) {
      if (claims.get(key)?.owner !== owner) return false;
      claims.delete(key);
      applied.set(key, position);
      return true;
    },
    async release(key, owner) {
      if (claims.get(key)?.owner === owner) claims.delete(key);
    },
  };
}
