import { ConditionalCheckFailedException, DeleteItemCommand, QueryCommand } from '@aws-sdk/client-dynamodb';
import { checkedJson } from '../../contract/checks.ts';
import { changedAdvert } from '../../contract/messages.ts';
import { feedStateTable, parkedMarks, parkedMessagesOf } from '../../contract/tables.ts';
import type { ParkedMessage } from '../../domain/queue/parked-message.ts';
import { readItem, type Table } from '../dynamodb/conditional-write.ts';
import { deleteAll, queryAll } from '../dynamodb/query.ts';
import { type Item, numberIn } from '../dynamodb/values.ts';
import { createParkingEntrance, markKey, messageKey } from './entrance.ts';
import type { ParkingLot } from './parking.ts';

const { partitionKey: pk, sortKey: sk } = feedStateTable;

/**
 * Parked messages on the feed-state table: one item for each, in a partition for each partner account, and one mark for
 * each account that has some, all in one partition: so one query finds them.
 */
export function createParkingLot(table: Table): ParkingLot & { count(): Promise<number> } {
  const query = (partnerAccount: string, rest: { Limit: number } | { Select: 'COUNT'; from?: Item }) => {
    const { from, ...options } = 'from' in rest ? rest : { ...rest, from: undefined };
    return table.client.send(
      new QueryCommand({
        TableName: table.name,
        ConsistentRead: true,
        KeyConditionExpression: '#pk = :account',
        ExpressionAttributeNames: { '#pk': pk },
        ExpressionAttributeValues: { ':account': { S: parkedMessagesOf(partnerAccount) } },
        ExclusiveStartKey: from,
        ...options,
      }),
    );
  };

  const marked = async () => (await queryAll(table, parkedMarks)).map((item) => item[sk]?.S ?? '');

  async function countOf(partnerAccount: string): Promise<number> {
    let count = 0;
    for (let from: Item | undefined; ; ) {
      const { Count = 0, LastEvaluatedKey } = await query(partnerAccount, { Select: 'COUNT', from });
      count += Count;
      if (!LastEvaluatedKey) return count;
      from = LastEvaluatedKey;
    }
  }

  return {
    ...createParkingEntrance(table),

    marked,

    async markedAt(partnerAccount) {
      const item = await readItem(table, markKey(partnerAccount));
      return item && numberIn(item, 'markedAt');
    },

    async oldest(partnerAccount, limit) {
      const { Items = [] } = await query(partnerAccount, { Limit: limit });
      return Items.map(parkedOf);
    },

    remove: (partnerAccount, places) =>
      deleteAll(
        table,
        places.map((place) => messageKey(partnerAccount, place)),
      ),

    async unmark(partnerAccount, atMs) {
      await table.client
        .send(
          new DeleteItemCommand({
            TableName: table.name,
            Key: markKey(partnerAccount),
            ConditionExpression: 'markedAt = :at',
            ExpressionAttributeValues: { ':at': { N: String(atMs) } },
          }),
        )
        .catch((error: unknown) => {
          // Renewed since, or gone already.
          if (!(error instanceof ConditionalCheckFailedException)) throw error;
        });
    },

    /** How many are parked, of all partner accounts. */
    async count() {
      const counts = await Promise.all((await marked()).map(countOf));
      return counts.reduce((sum, count) => sum + count, 0);
    },
  };
}

/** @throws {ShapeError} */
function parkedOf(item: Item): ParkedMessage {
  const place = item[sk]?.S ?? '';
  return { place, message: checkedJson(changedAdvert, item.body?.S ?? '', `parked message ${place}`) };
}
