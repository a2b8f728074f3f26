import { ScanCommand } from '@aws-sdk/client-dynamodb';
import { checked } from '../contract/checks.ts';
import { advertRow } from '../contract/rows.ts';
import { advertStatusTable } from '../contract/tables.ts';
import type { Clock } from '../domain/clock.ts';
import type { AdvertHistories, AdvertKey } from '../ports/advert-histories.ts';
import { coalescedReads } from './dynamodb/coalesced-reads.ts';
import { putItem, type Table } from './dynamodb/conditional-write.ts';
import { deleteAll } from './dynamodb/query.ts';
import { fromItem, type Item } from './dynamodb/values.ts';

const { partitionKey: pk } = advertStatusTable;

const keyOf = ({ partnerAccount, generation, advertId }: AdvertKey) =>
  `${partnerAccount}/${generation}/${advertId}`;

/** Advert histories on the advert-status table: one item an advert, below 1 KB, so one write unit a change. */
export function createAdvertHistories(
  table: Table,
  edges: { clock?: Clock; random?: () => number } = {},
): AdvertHistories {
  const readRow = coalescedReads(table, pk, edges);
  return {
    async read(key) {
      const item = await readRow(keyOf(key));
      const place = `history of advert ${keyOf(key)}`;
      return item && checked(advertRow, fromItem(item, place), place);
    },

    async write(key, { owed, ...row }) {
      const itemKey = { [pk]: { S: keyOf(key) } };
      const fields = { ...row, ...(owed ? { owed } : {}) };
      const { written } =
        row.version === 1
          ? await putItem(table, itemKey, fields, `attribute_not_exists(#${pk})`)
          : await putItem(table, itemKey, fields, '#version = :before', { before: row.version - 1 });
      return written;
    },

    // Adverts are spread over partitions by design, so forgetting an account has to look at all of them.
    async remove(partnerAccount, generation) {
      for (let from: Item | undefined; ; ) {
        const { Items = [], LastEvaluatedKey } = await table.client.send(
          new ScanCommand({
            TableName: table.name,
            ConsistentRead: true,
            ProjectionExpression: '#pk',
            FilterExpression: 'begins_with(#pk, :prefix)',
            ExpressionAttributeNames: { '#pk': pk },
            ExpressionAttributeValues: { ':prefix': { S: `${partnerAccount}/` } },
            ExclusiveStartKey: from,
          }),
        );
        const isMeant = (item: Item) => Number(item[pk]?.S?.split('/')[1]) <= generation;
        await deleteAll(table, Items.filter(isMeant));
        if (!LastEvaluatedKey) return;
        from = LastEvaluatedKey;
      }
    },
  };
}
