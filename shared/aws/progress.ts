import { checkedJson, ofKnownForm } from '../contract/checks.ts';
import { feedStateTable } from '../contract/tables.ts';
import type { AuditKind, BackfillKey, Progresses } from '../ports/backfills.ts';
import { booksItemKey } from './books.ts';
import { hasVersion, readItem, type Table, updateItem } from './dynamodb/conditional-write.ts';
import { type Item, numberIn } from './dynamodb/values.ts';

/**
 * Progress of audits in the feed-state table. It has its own item, separate from the books, because the
 * findings may be long and every count would write them again.
 */
export function createProgress<T extends object>(table: Table, kind: AuditKind): Progresses<T> {
  const itemKey = ({ partnerAccount, generation }: BackfillKey): Item => ({
    ...booksItemKey(partnerAccount, generation),
    [feedStateTable.sortKey]: { S: `${partnerAccount}/${generation}/${kind}` },
  });
  return {
    async read(key) {
      const item = await readItem(table, itemKey(key));
      const text = item?.progress?.S;
      if (text === undefined) return undefined;
      return {
        value: checkedJson(ofKnownForm, text, `progress of the ${kind}`) as object as T,
        version: numberIn(item, 'version'),
      };
    },

    async write(key, progress, expected, listed) {
      const { written } = await updateItem(table, itemKey(key), {
        set: { progress: JSON.stringify(progress), version: expected + 1 },
        ...hasVersion(expected),
      });
      if (written && listed > 0) {
        await updateItem(table, booksItemKey(key.partnerAccount, key.generation), { add: { listed } });
      }
      return written;
    },
  };
}
