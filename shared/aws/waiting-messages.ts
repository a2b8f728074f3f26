import { paginateQuery } from '@aws-sdk/client-dynamodb';
import { messageIn } from '../contract/messages.ts';
import { feedStateTable, parkedMessagesOf } from '../contract/tables.ts';
import type { WaitingMessages } from '../ports/parked-messages.ts';
import type { Table } from './dynamodb/conditional-write.ts';

const { partitionKey: pk } = feedStateTable;

/**
 * Parked messages of an advert, in the feed-state table: all of its partner account are read, half a read unit for 4 KB.
 * What is in the queue is not found, for SQS shows a message only to who receives it, and holds back its advert's others.
 */
export function createWaitingMessages(table: Table): WaitingMessages {
  return {
    seesQueue: false,
    async ofAdvert(partnerAccount, advertId, feed = 'adverts') {
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
        if (message.feed !== feed || message.advertId !== advertId) return [];
        return [{ message, place: 'parked' as const, receives: 0 }];
      });
    },
  };
}
