import type { Counts, EmbeddedBooks } from './books.ts';

/** Sums what one transaction counts, so that each entry of the books is written once. */
export function createTally() {
  const entries = new Map<string, { partnerAccount: string; generation: number; counts: Counts }>();
  return {
    add(partnerAccount: string, generation: number, counts: Counts): void {
      const key = `${partnerAccount}/${generation}`;
      const entry = entries.get(key) ?? { partnerAccount, generation, counts: {} };
      entries.set(key, entry);
      for (const name in counts) {
        const kind = name as keyof Counts;
        entry.counts[kind] = (entry.counts[kind] ?? 0) + (counts[kind] ?? 0);
      }
    },
    enter(books: EmbeddedBooks): void {
      for (const { partnerAccount, generation, counts } of entries.values()) {
        books.add(partnerAccount, generation, counts);
      }
    },
  };
}
