import type { AuditProgress, Audits } from '../../shared/ports/audits.ts';
import type { BackfillKey, Versioned } from '../../shared/ports/backfills.ts';

/** Progress of audits in memory. */
export function createInMemoryAudits(): Audits {
  const stored = new Map<string, Versioned<AuditProgress>>();
  const nameOf = ({ partnerAccount, generation }: BackfillKey) => `${partnerAccount}/${generation}`;
  return {
    read: async (key) => stored.get(nameOf(key)),
    async write(key, value, expected) {
      if ((stored.get(nameOf(key))?.version ?? 0) !== expected) return false;
      stored.set(nameOf(key), { value, version: expected + 1 });
      return true;
    },
  };
}
