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
import type { QueueFigures } from '../../ports/books.ts';
import { readItem, type Table } from '../dynamodb/conditional-write.ts';
import { deleteAll, putAll, queryAll } from '../dynamodb/query.ts';
import { type Item, numberIn } from '../dynamodb/values.ts';
import type { ParkingLot, UnreadableRow } from './parking.ts';

type ParkedFigures = Pick<QueueFigures, 'waiting' | 'oldestListedAt'>;

const { partitionKey: pk, sortKey: sk } = feedStateTable;

const markKey = (partnerAccount: string): Item => ({ [pk]: { S: parkedMarks }, [sk]: { S: partnerAccount } });
const messageKey = (partnerAccount: string, place: string): Item => ({
  [pk]: { S: parkedMessagesOf(partnerAccount) },
  [sk]: { S: place },
});

/**
 * Parked messages in the feed-state table: one item per message, in one partition per partner account. A mark for each
 * account with parked messages is in one common partition, so that a single query finds these accounts.
 */
export function createParkingLot(table: Table): ParkingLot & { figures(): Promise<ParkedFigures> } {
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

  async function oldest(partnerAccount: string, limit: number): Promise<(ParkedMessage | UnreadableRow)[]> {
    const query = new QueryCommand({ ...messagesOf(partnerAccount), Limit: limit });
    const { Items = [] } = await table.client.send(query);
    return Items.map((item) => ({ place: item[sk]?.S ?? '', ...messageIn(item.body?.S ?? '') }));
  }

  async function figuresOf(partnerAccount: string): Promise<ParkedFigures> {
    const waiting = await countOf(partnerAccount);
    const [first] = await oldest(partnerAccount, 1);
    return first && 'message' in first ? { waiting, oldestListedAt: first.message.listedAt } : { waiting };
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

    oldest,

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
          // The mark was renewed in the meantime, or is already gone.
          if (!(error instanceof ConditionalCheckFailedException)) throw error;
        });
    },

    /** Counts for all partner accounts. */
    async figures() {
      const all = await Promise.all((await marked()).map(figuresOf));
      const waiting = all.reduce((sum, one) => sum + one.waiting, 0);
      const [first] = all.flatMap(({ oldestListedAt = [] }) => oldestListedAt).sort();
      return first === undefined ? { waiting } : { waiting, oldestListedAt: first };
    },
  };
}
