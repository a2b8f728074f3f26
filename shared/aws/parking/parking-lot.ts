import {
  ConditionalCheckFailedException,
  DeleteItemCommand,
  PutItemCommand,
  paginateQuery,
  QueryCommand,
} from '@aws-sdk/client-dynamodb';
import { messageIn } from '../../contract/messages.ts';
import { feedStateTable, parkedMarks, parkedMessagesOf } from '../../contract/tables.ts';
import type { ParkedMessage } from '../../domain/queue/parked-message.ts';
import { readItem, type Table } from '../dynamodb/conditional-write.ts';
import { deleteAll, putAll, queryAll } from '../dynamodb/query.ts';
import { type Item, numberIn } from '../dynamodb/values.ts';
import type { ParkingLot, UnreadableRow } from './parking.ts';

const { partitionKey: pk, sortKey: sk } = feedStateTable;

const markKey = (partnerAccount: string): Item => ({ [pk]: { S: parkedMarks }, [sk]: { S: partnerAccount } });
const messageKey = (partnerAccount: string, place: string): Item => ({
  [pk]: { S: parkedMessagesOf(partnerAccount) },
  [sk]: { S: place },
});

/**
 * Parked messages on the feed-state table: one item for each, in a partition for each partner account, and one mark for
 * each account that has some, all in one partition: so one query finds them.
 */
export function createParkingLot(table: Table): ParkingLot & { count(): Promise<number> } {
  const messagesOf = (partnerAccount: string) => ({
    TableName: table.name,
    ConsistentRead: true,
    KeyConditionExpression: '#pk = :account',
    ExpressionAttributeNames: { '#pk': pk },
    ExpressionAttributeValues: { ':account': { S: parkedMessagesOf(partnerAccount) } },
  });

  const marked = async () => (await queryAll(table, parkedMarks)).map((item) => item[sk]?.S ?? '');

  async function countOf(partnerAccount: string): Promise<number> {
    const pages = paginateQuery({ client: table.client }, { ...messagesOf(partnerAccount), Select: 'COUNT' });
    let count = 0;
    for await (const page of pages) count += page.Count ?? 0;
    return count;
  }

  return {
    put: (parked) =>
      putAll(
        table,
        parked.map(({ place, message }) => ({
          ...messageKey(message.partnerAccount, place),
          body: { S: JSON.stringify(message) },
        })),
      ),

    async mark(partnerAccount, atMs) {
      const Item = { ...markKey(partnerAccount), markedAt: { N: String(atMs) } };
      await table.client.send(new PutItemCommand({ TableName: table.name, Item }));
    },

    marked,

    async markedAt(partnerAccount) {
      const item = await readItem(table, markKey(partnerAccount));
      return item && numberIn(item, 'markedAt');
    },

    async oldest(partnerAccount, limit) {
      const query = new QueryCommand({ ...messagesOf(partnerAccount), Limit: limit });
      const { Items = [] } = await table.client.send(query);
      return Items.map((item): ParkedMessage | UnreadableRow => ({
        place: item[sk]?.S ?? '',
        ...messageIn(item.body?.S ?? ''),
      }));
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
