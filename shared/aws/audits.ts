import { checkedJson, ofKnownForm } from '../contract/checks.ts';
import { feedStateTable } from '../contract/tables.ts';
import type { AuditKind, AuditProgress, Audits } from '../ports/audits.ts';
import type { BackfillKey } from '../ports/backfills.ts';
import { booksItemKey } from './books.ts';
import { hasVersion, readItem, type Table, updateItem } from './dynamodb/conditional-write.ts';
import { type Item, numberIn } from './dynamodb/values.ts';

/**
 * Progress of audits in the feed-state table. It has its own item, separate from the books, because the findings may be
 * long and every count would write them again.
 */
export function createAudits(table: Table, kind: AuditKind = 'audit'): Audits {
  const itemKey = ({ partnerAccount, generation }: BackfillKey): Item => ({
    ...booksItemKey(partnerAccount, generation),
    [feedStateTable.sortKey]: { S: `${partnerAccount}/${generation}/${kind}` },
  });
  return {
    async read(key) {
      const item = await readItem(table, itemKey(key));
      const text = item?.audit?.S;
      if (text === undefined) return undefined;
      return {
        value: checkedJson(ofKnownForm, text, 'progress of the audit') as object as AuditProgress,
        version: numberIn(item, 'version'),
      };
    },

    async write(key, progress, expected, listed) {
      const { written } = await updateItem(table, itemKey(key), {
        set: { audit: JSON.stringify(progress), version: expected + 1 },
        ...hasVersion(expected),
      });
      if (written && listed > 0) {
        await updateItem(table, booksItemKey(key.partnerAccount, key.generation), { add: { listed } });
      }
      return written;
    },
  };
}
