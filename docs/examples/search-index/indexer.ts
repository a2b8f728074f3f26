import { ConditionalCheckFailedException, DynamoDB } from '@aws-sdk/client-dynamodb';
import { SQS } from '@aws-sdk/client-sqs';
import * as kit from 'advert-bridge-kit/subscriber';

const { TABLE_NAME: TableName, DEAD_LETTER_QUEUE_URL: queueUrl } = process.env;
const dynamodb = new DynamoDB({});

/** Writes each event once, on the condition that the table has no newer one. */
async function index(event: kit.AdvertEvent): Promise<void> {
  const { status } = event.detail.data;
  const { setPosition, ...newer } = kit.newerCondition(event, { marshalled: true });
  const write = dynamodb.updateItem({
    ...{ TableName, Key: { pk: { S: kit.advertKeyOf(event) } } },
    UpdateExpression: `SET ${setPosition}, #status = :status`,
    ConditionExpression: newer.ConditionExpression,
    ExpressionAttributeNames: { ...newer.ExpressionAttributeNames, '#status': 'status' },
    ExpressionAttributeValues: { ...newer.ExpressionAttributeValues, ':status': itemValue(status) },
  });
  await write.catch((error) => {
    if (!(error instanceof ConditionalCheckFailedException)) throw error; // Otherwise the event is stale or a duplicate.
  });
}

const itemValue = (status: string | null) => (status === null ? { NULL: true } : { S: status });

/** Events that cannot be written go back to the queue; records that are not events go to the dead-letter queue. */
export const handler = kit.advertEventHandler({
  positions: 'own-write',
  onRefused: kit.sendToDeadLetters({ sqs: new SQS({}), queueUrl }),
  on: { AdvertStatusChanged: index, AdvertUnavailable: index },
});
