import { ScanCommand } from '@aws-sdk/client-dynamodb';
import { advertIdPattern } from '../contract/checks.ts';
import { advertStatusTable } from '../contract/tables.ts';
import type { PublishedAdverts } from '../ports/advert-histories.ts';
import type { Table } from './dynamodb/conditional-write.ts';

const { partitionKey: pk } = advertStatusTable;

/** About a megabyte, the maximum that a scan returns per call. */
const rowsAtOnce = 1_000;

/**
 * Lists published adverts from the advert-status table, a thousand rows at a time. Adverts are spread over all
 * partitions, so this scans the whole table (half a read unit per 4 KB).
 *
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Scan.html
 */
export function createPublishedAdverts({ client, name }: Table): PublishedAdverts {
  return {
    async page({ partnerAccount, generation }, from, most = rowsAtOnce) {
      const prefix = `${partnerAccount}/${generation}/`;
      const { Items = [], LastEvaluatedKey } = await client.send(
        new ScanCommand({
          TableName: name,
          Limit: most,
          ProjectionExpression: '#pk',
          FilterExpression: 'begins_with(#pk, :prefix) AND attribute_exists(#envelope)',
          ExpressionAttributeNames: { '#pk': pk, '#envelope': 'envelope' },
          ExpressionAttributeValues: { ':prefix': { S: prefix } },
          ...(from !== undefined && { ExclusiveStartKey: { [pk]: { S: from } } }),
        }),
      );
      const next = LastEvaluatedKey?.[pk]?.S;
      return {
        advertIds: Items.map((item) => item[pk]?.S?.slice(prefix.length) ?? '').filter((id) =>
          advertIdPattern.test(id),
        ),
        ...(next !== undefined && { next }),
      };
    },
  };
}
