import { ScanCommand } from '@aws-sdk/client-dynamodb';
import { advertStatusTable } from '../contract/tables.ts';
import type { PublishedAdverts } from '../ports/published-adverts.ts';
import type { Table } from './dynamodb/conditional-write.ts';

const { partitionKey: pk } = advertStatusTable;

/**
 * Published adverts on the advert-status table, a megabyte of it at a time. Adverts are spread over partitions by design,
 * so all of the table is read: half a read unit for 4 KB.
 *
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Scan.html
 */
export function createPublishedAdverts({ client, name }: Table): PublishedAdverts {
  return {
    async page({ partnerAccount, generation }, from) {
      const prefix = `${partnerAccount}/${generation}/`;
      const { Items = [], LastEvaluatedKey } = await client.send(
        new ScanCommand({
          TableName: name,
          ProjectionExpression: '#pk',
          FilterExpression: 'begins_with(#pk, :prefix) AND attribute_exists(#envelope)',
          ExpressionAttributeNames: { '#pk': pk, '#envelope': 'envelope' },
          ExpressionAttributeValues: { ':prefix': { S: prefix } },
          ...(from !== undefined && { ExclusiveStartKey: { [pk]: { S: from } } }),
        }),
      );
      const next = LastEvaluatedKey?.[pk]?.S;
      return {
        advertIds: Items.flatMap((item) => item[pk]?.S?.slice(prefix.length) ?? []),
        ...(next !== undefined && { next }),
      };
    },
  };
}
