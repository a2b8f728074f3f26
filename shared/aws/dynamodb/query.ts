import { BatchWriteItemCommand, QueryCommand, type WriteRequest } from '@aws-sdk/client-dynamodb';
import { feedStateTable } from '../../contract/tables.ts';
import { backoffMs } from '../../domain/backoff.ts';
import { type Clock, systemClock } from '../../domain/clock.ts';
import type { Table } from './conditional-write.ts';
import type { Item } from './values.ts';

/**
 * Every item of one kind in the feed-state table, strongly consistent, page by page.
 *
 * @param prefix only names that begin so
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Query.html
 */
export async function queryAll(table: Table, kind: string, prefix?: string): Promise<Item[]> {
  const items: Item[] = [];
  const narrowed = prefix === undefined ? '' : ' AND begins_with(#sk, :prefix)';
  for (let from: Item | undefined; ; ) {
    const { Items = [], LastEvaluatedKey } = await table.client.send(
      new QueryCommand({
        TableName: table.name,
        ConsistentRead: true,
        KeyConditionExpression: `#pk = :kind${narrowed}`,
        ExpressionAttributeNames: {
          '#pk': feedStateTable.partitionKey,
          ...(narrowed ? { '#sk': feedStateTable.sortKey } : {}),
        },
        ExpressionAttributeValues: {
          ':kind': { S: kind },
          ...(prefix === undefined ? {} : { ':prefix': { S: prefix } }),
        },
        ExclusiveStartKey: from,
      }),
    );
    items.push(...Items);
    if (!LastEvaluatedKey) return items;
    from = LastEvaluatedKey;
  }
}

const maxAttempts = 8;
/** DynamoDB takes 25 writes in a batch. */
const writesAtOnce = 25;

/** Deletes by key, as {@link putAll} writes. */
export function deleteAll(table: Table, keys: readonly Item[], clock?: Clock): Promise<void> {
  return writeAll(
    table,
    keys.map((Key) => ({ DeleteRequest: { Key } })),
    clock,
  );
}

/**
 * Writes whole items, whatever was there; what a batch leaves unprocessed is sent again with backoff.
 *
 * @throws when some are left after that
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html
 */
export function putAll(table: Table, items: readonly Item[], clock?: Clock): Promise<void> {
  return writeAll(
    table,
    items.map((Item) => ({ PutRequest: { Item } })),
    clock,
  );
}

async function writeAll(
  table: Table,
  requests: readonly WriteRequest[],
  clock: Clock = systemClock,
): Promise<void> {
  for (let start = 0; start < requests.length; start += writesAtOnce) {
    let left = requests.slice(start, start + writesAtOnce);
    for (let attempt = 1; left.length > 0; attempt += 1) {
      if (attempt > maxAttempts) throw new Error(`${left.length} items of ${table.name} were not written`);
      if (attempt > 1) {
        await clock.sleep(backoffMs(attempt, { baseMs: 50, capMs: 2000, random: Math.random }));
      }
      const { UnprocessedItems } = await table.client.send(
        new BatchWriteItemCommand({ RequestItems: { [table.name]: left } }),
      );
      left = UnprocessedItems?.[table.name] ?? [];
    }
  }
}
