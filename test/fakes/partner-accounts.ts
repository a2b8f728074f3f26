import { firstNumberOf, type PartnerAccount } from '../../shared/domain/partner-account.ts';
import type { PartnerAccounts, Versioned } from '../../shared/ports/partner-accounts.ts';

/** Partner accounts in memory, sorted by name. */
export function createInMemoryPartnerAccounts(): PartnerAccounts {
  const rows = new Map<string, Versioned<PartnerAccount>>();
  return {
    list: async () => [...rows.values()].map(({ value }) => value).sort((a, b) => (a.name < b.name ? -1 : 1)),
    read: async (name) => rows.get(name),
    async write(account, expected) {
      const version = rows.get(account.name)?.version ?? 0;
      if (version !== expected) return false;
      rows.set(account.name, {
        value: account,
        version: Math.max(version, firstNumberOf(account.generation)) + 1,
      });
      return true;
    },
    async remove(name) {
      rows.delete(name);
    },
  };
}
