import { ConditionalCheckFailedException, DynamoDB } from '@aws-sdk/client-dynamodb';
import { SQS } from '@aws-sdk/client-sqs';
import {
  advertKeyOf,
  onlyIfNewerItem,
  parseSqsRecord,
  RefusedEventError,
  sendToDeadLetters,
} from 'advert-bridge/subscriber';
import type { SQSBatchResponse, SQSEvent } from 'aws-lambda';

const { TABLE_NAME: TableName, DEAD_LETTER_QUEUE_URL: queueUrl = '' } = process.env;
const dynamodb = new DynamoDB({});
const refuse = sendToDeadLetters({ sqs: new SQS({}), queueUrl });

/** One write an event, which holds only if the table has no newer one. */
async function index(body: string): Promise<void> {
  const event = parseSqsRecord({ body });
  if (event['detail-type'] !== 'AdvertStatusChanged' && event['detail-type'] !== 'AdvertUnavailable') return;
  const { status } = event.detail.data;
  const newer = onlyIfNewerItem(event);
  await dynamodb.updateItem({
    ...{ TableName, Key: { pk: { S: advertKeyOf(event) } } },
    UpdateExpression: `SET ${newer.setPosition}, #status = :status`,
    ConditionExpression: newer.ConditionExpression,
    ExpressionAttributeNames: { ...newer.ExpressionAttributeNames, '#status': 'status' },
    ExpressionAttributeValues: {
      ...newer.ExpressionAttributeValues,
      ':status': status === null ? { NULL: true } : { S: status },
    },
  });
}

/** What fails goes back to the queue; what will never be an event, to the dead letters. */
export async function handler({ Records }: SQSEvent): Promise<SQSBatchResponse> {
  const batchItemFailures: SQSBatchResponse['batchItemFailures'] = [];
  const settle = async ({ messageId, body }: SQSEvent['Records'][number]) => {
    try {
      await index(body).catch(async (error) => {
        if (error instanceof RefusedEventError) await refuse({ error, body, messageId });
        else if (!(error instanceof ConditionalCheckFailedException)) throw error; // Else stale, or a duplicate.
      });
    } catch (error) {
      console.error(messageId, error);
      batchItemFailures.push({ itemIdentifier: messageId });
    }
  };
  await Promise.all(Records.map(settle));
  return { batchItemFailures };
}
