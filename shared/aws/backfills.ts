import { checkedJson, ofKnownForm } from '../contract/checks.ts';
import type { BackfillProgress, Backfills } from '../ports/backfills.ts';
import { booksItemKey } from './books.ts';
import { hasVersion, readItem, type Table, updateItem } from './dynamodb/conditional-write.ts';
import { numberIn } from './dynamodb/values.ts';

/**
 * Progress of backfills in the feed-state table, in the item of the generation's books. One write stores the progress
 * and counts the page's IDs, so that a page that is sent twice is counted once, as for the feed.
 */
export function createBackfills(table: Table): Backfills {
  return {
    async read({ partnerAccount, generation }) {
      const item = await readItem(table, booksItemKey(partnerAccount, generation));
      const text = item?.backfill?.S;
      if (text === undefined) return undefined;
      return {
        value: checkedJson(ofKnownForm, text, 'progress of the backfill') as object as BackfillProgress,
        version: numberIn(item, 'backfillVersion'),
      };
    },

    async write({ partnerAccount, generation }, progress, expected, listed) {
      const { written } = await updateItem(table, booksItemKey(partnerAccount, generation), {
        set: { backfill: JSON.stringify(progress), backfillVersion: expected + 1 },
        ...(listed === 0 ? {} : { add: { listed } }),
        ...hasVersion(expected, 'backfillVersion'),
      });
      return written;
    },
  };
}
