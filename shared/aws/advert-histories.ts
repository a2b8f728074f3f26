import { paginateScan } from '@aws-sdk/client-dynamodb';
import { checked } from '../contract/checks.ts';
import { advertRow } from '../contract/rows.ts';
import { advertStatusTable } from '../contract/tables.ts';
import { historyKeyOf as keyOf } from '../domain/history-key.ts';
import type { AdvertHistories } from '../ports/advert-histories.ts';
import type { Edges } from './batches/batches.ts';
import { createCoalescedReads } from './dynamodb/coalesced-reads.ts';
import { hasVersion, putItem, type Table } from './dynamodb/conditional-write.ts';
import { deleteAll } from './dynamodb/query.ts';
import { fromItem, type Item } from './dynamodb/values.ts';

const { partitionKey: pk } = advertStatusTable;

/**
 * Advert histories in the advert-status table: one item per advert, smaller than 1 KB, so that a change costs one write
 * unit.
 */
export function createAdvertHistories(table: Table, edges?: Edges): AdvertHistories {
  const rows = createCoalescedReads(table, pk, edges);
  return {
    async read(key) {
      const item = await rows.read(keyOf(key));
      const place = `history of advert ${keyOf(key)}`;
      return item && checked(advertRow, fromItem(item, place), place);
    },

    async write(key, { pending, ...row }) {
      const fields = { ...row, ...(pending && { pending }) };
      return (await putItem(table, { [pk]: { S: keyOf(key) } }, fields, hasVersion(row.version - 1))).written;
    },

    // Adverts are spread over all partitions, so forgetting an account has to scan the whole table.
    async remove(partnerAccount, generation) {
      const pages = paginateScan(
        { client: table.client },
        {
          TableName: table.name,
          ConsistentRead: true,
          ProjectionExpression: '#pk',
          FilterExpression: 'begins_with(#pk, :prefix)',
          ExpressionAttributeNames: { '#pk': pk },
          ExpressionAttributeValues: { ':prefix': { S: `${partnerAccount}/` } },
        },
      );
      const isMeant = (item: Item) => Number(item[pk]?.S?.split('/')[1]) <= generation;
      for await (const { Items = [] } of pages) await deleteAll(table, Items.filter(isMeant));
    },
  };
}
