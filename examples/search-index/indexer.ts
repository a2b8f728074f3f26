import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { SQS } from '@aws-sdk/client-sqs';
import {
  advertEventHandler,
  advertKeyOf,
  createDynamoDbStore,
  sendToDeadLetters,
} from 'advert-bridge/subscriber';

const { TABLE_NAME: tableName = '', DEAD_LETTER_QUEUE_URL: queueUrl = '' } = process.env;
const dynamodb = new DynamoDB({});
const store = createDynamoDbStore({ dynamodb, tableName });
const onRefused = sendToDeadLetters({ sqs: new SQS({}), queueUrl });

/** Puts the status of each advert beside the position that the kit keeps in the same item. */
export const handler = advertEventHandler({ store, onRefused }, async ({ deliveries }) => {
  for (const { event } of deliveries) {
    if (event['detail-type'] !== 'AdvertStatusChanged' && event['detail-type'] !== 'AdvertUnavailable')
      continue;
    const { status } = event.detail.data;
    await dynamodb.updateItem({
      TableName: tableName,
      Key: { pk: { S: advertKeyOf(event) } },
      UpdateExpression: 'SET #status = :status',
      ExpressionAttributeNames: { '#status': 'status' },
      ExpressionAttributeValues: { ':status': status === null ? { NULL: true } : { S: status } },
    });
  }
});
