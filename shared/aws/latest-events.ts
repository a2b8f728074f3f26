import { paginateScan } from '@aws-sdk/client-dynamodb';
import { advertIdPattern } from '../contract/checks.ts';
import { advertStatusTable } from '../contract/tables.ts';
import type { Table } from './dynamodb/conditional-write.ts';

const { partitionKey: pk } = advertStatusTable;

/**
 * Reads the latest recorded event of every advert, one page of the table at a time. Adverts are spread over all
 * partitions, so this scans the whole table (half a read unit per 4 KB).
 *
 * @param generations the wanted partner accounts with their generations; rows of others, and of forgotten generations,
 * are left out
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Scan.html
 */
export async function* latestEvents(
  table: Table,
  generations: ReadonlyMap<string, number>,
): AsyncGenerator<string[]> {
  const pages = paginateScan(
    { client: table.client },
    {
      TableName: table.name,
      ProjectionExpression: '#pk, #envelope',
      ExpressionAttributeNames: { '#pk': pk, '#envelope': 'envelope' },
    },
  );
  for await (const { Items = [] } of pages) {
    yield Items.flatMap((item) => {
      const [partnerAccount = '', generation, advertId = ''] = item[pk]?.S?.split('/') ?? [];
      // The keys of other feeds' objects are not advert IDs.
      if (!advertIdPattern.test(advertId)) return [];
      const envelope = item.envelope?.S;
      return envelope !== undefined && String(generations.get(partnerAccount)) === generation
        ? [envelope]
        : [];
    });
  }
}
