import { feedStateTable } from '../contract/tables.ts';
import type { Books as Account } from '../domain/books.ts';
import { type Table, updateItem } from './dynamodb/conditional-write.ts';
import type { Item } from './dynamodb/values.ts';

/** What is added to the books (a redrive takes away). `redelivered`: of these outcomes, those of a delivery beyond its message's first. */
export type Entry = { -readonly [K in Exclude<keyof Account, 'listed' | 'inFlight'>]?: number };

export interface Books {
  add(partnerAccount: string, generation: number, entry: Entry): Promise<void>;
}

/** Key of the item that counts what became of a generation's listed IDs. */
export const booksItemKey = (partnerAccount: string, generation: number): Item => ({
  [feedStateTable.partitionKey]: { S: 'books' },
  [feedStateTable.sortKey]: { S: `${partnerAccount}/${generation}` },
});

/** The outcomes of a partner account's generation, counted on the feed-state table: one write for each call. */
export function createBooks(table: Table): Books {
  return {
    async add(partnerAccount, generation, entry) {
      const add = Object.fromEntries(
        Object.entries(entry).filter(([, count]) => count !== undefined && count !== 0),
      );
      if (Object.keys(add).length === 0) return;
      await updateItem(table, booksItemKey(partnerAccount, generation), { add });
    },
  };
}
