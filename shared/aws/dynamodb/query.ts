import { BatchWriteItemCommand, paginateQuery, type WriteRequest } from '@aws-sdk/client-dynamodb';
import { feedStateTable } from '../../contract/tables.ts';
import { batchesOf, type Edges, retryRest } from '../batches/batches.ts';
import type { Table } from './conditional-write.ts';
import type { Item } from './values.ts';

/**
 * Reads every item of one kind in the feed-state table, strongly consistent, page by page.
 *
 * @param prefix only names with this prefix
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Query.html
 */
export async function queryAll({ client, name }: Table, kind: string, prefix?: string): Promise<Item[]> {
  const { partitionKey, sortKey } = feedStateTable;
  const items: Item[] = [];
  const pages = paginateQuery(
    { client },
    {
      TableName: name,
      ConsistentRead: true,
      KeyConditionExpression: `#pk = :kind${prefix === undefined ? '' : ' AND begins_with(#sk, :prefix)'}`,
      ExpressionAttributeNames: { '#pk': partitionKey, ...(prefix !== undefined && { '#sk': sortKey }) },
      ExpressionAttributeValues: {
        ':kind': { S: kind },
        ...(prefix !== undefined && { ':prefix': { S: prefix } }),
      },
    },
  );
  for await (const { Items = [] } of pages) items.push(...Items);
  return items;
}

/** DynamoDB accepts 25 writes per batch. */
const writesAtOnce = 25;
const retries = { maxAttempts: 8, baseMs: 100, capMs: 2_000 };

/**
 * Deletes items by key; unprocessed items are sent again with backoff.
 *
 * @throws if items are still unprocessed after the last attempt
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html
 */
export const deleteAll = (table: Table, keys: readonly Item[], edges?: Edges): Promise<void> =>
  writeAll(
    table,
    keys.map((Key) => ({ DeleteRequest: { Key } })),
    edges,
  );

async function writeAll({ client, name }: Table, requests: WriteRequest[], edges?: Edges): Promise<void> {
  for (const batch of batchesOf(requests, writesAtOnce)) {
    const unwritten = await retryRest(
      batch,
      async (rest) => {
        const RequestItems = { [name]: [...rest] };
        const { UnprocessedItems } = await client.send(new BatchWriteItemCommand({ RequestItems }));
        return UnprocessedItems?.[name] ?? [];
      },
      { ...retries, ...edges },
    );
    if (unwritten.length > 0) throw new Error(`${unwritten.length} items of ${name} were not written`);
  }
}
