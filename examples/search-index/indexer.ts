import { ConditionalCheckFailedException, DynamoDB } from '@aws-sdk/client-dynamodb';
import { advertKeyOf, onlyIfNewerItem, parseSqsRecord } from 'advert-bridge/subscriber';
import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';

const dynamodb = new DynamoDB({});

async function index(record: SQSRecord): Promise<void> {
  const event = parseSqsRecord(record);
  if (event['detail-type'] !== 'AdvertStatusChanged' && event['detail-type'] !== 'AdvertUnavailable') return;
  const newer = onlyIfNewerItem(event);
  const { status } = event.detail.data;
  await dynamodb.updateItem({
    TableName: process.env.TABLE_NAME,
    Key: { pk: { S: advertKeyOf(event) } },
    UpdateExpression: `SET ${newer.setPosition}, #status = :status`,
    ConditionExpression: newer.ConditionExpression,
    ExpressionAttributeNames: { ...newer.ExpressionAttributeNames, '#status': 'status' },
    ExpressionAttributeValues: {
      ...newer.ExpressionAttributeValues,
      ':status': status === null ? { NULL: true } : { S: status },
    },
  });
}

/** One write an event, refused if the table has a newer one; what fails goes back to the queue. */
export async function handler({ Records }: SQSEvent): Promise<SQSBatchResponse> {
  const failures = await Promise.all(
    Records.map(async (record) => {
      try {
        await index(record);
        return [];
      } catch (error) {
        if (error instanceof ConditionalCheckFailedException) return []; // Stale, or a duplicate.
        console.error(record.messageId, error);
        return [{ itemIdentifier: record.messageId }];
      }
    }),
  );
  return { batchItemFailures: failures.flat() };
}
