import { paginateQuery } from '@aws-sdk/client-dynamodb';
import { messageIn } from '../contract/messages.ts';
import { feedStateTable, parkedMessagesOf } from '../contract/tables.ts';
import { objectKeyOf } from '../domain/history-key.ts';
import type { WaitingMessages } from '../ports/parked-messages.ts';
import type { Table } from './dynamodb/conditional-write.ts';

const { partitionKey: pk } = feedStateTable;

/**
 * Finds the parked messages of an advert in the feed-state table, by reading all parked messages of its partner account
 * (half a read unit per 4 KB). Messages in the queue are not found: SQS shows a message only to its receiver, and
 * receiving one would hold back the advert's other messages.
 */
export function createWaitingMessages(table: Table): WaitingMessages {
  return {
    async ofAdvert(partnerAccount, advertId) {
      const pages = paginateQuery(
        { client: table.client },
        {
          TableName: table.name,
          KeyConditionExpression: '#pk = :account',
          FilterExpression: 'contains(body, :advert)',
          ExpressionAttributeNames: { '#pk': pk },
          ExpressionAttributeValues: {
            ':account': { S: parkedMessagesOf(partnerAccount) },
            ':advert': { S: `"${advertId}"` },
          },
        },
      );
      const found = [];
      for await (const { Items = [] } of pages) found.push(...Items);
      return found.flatMap((item) => {
        const read = messageIn(item.body?.S ?? '');
        if (!('message' in read)) return [];
        const { message } = read;
        if (objectKeyOf(message) !== advertId) return [];
        return [{ message, place: 'parked' as const, receives: 0 }];
      });
    },
  };
}
