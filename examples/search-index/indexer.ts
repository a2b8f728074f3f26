import { ConditionalCheckFailedException, DynamoDB } from '@aws-sdk/client-dynamodb';
import { SQS } from '@aws-sdk/client-sqs';
import * as kit from 'advert-bridge-kit/subscriber';

const { TABLE_NAME: TableName, DEAD_LETTER_QUEUE_URL: queueUrl } = process.env;
const dynamodb = new DynamoDB({});

/** One write an event, which holds only if the table has no newer one. */
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
    if (!(error instanceof ConditionalCheckFailedException)) throw error; // Else stale, or a duplicate.
  });
}

const itemValue = (status: string | null) => (status === null ? { NULL: true } : { S: status });

/** What cannot be written goes back to the queue; what will never be an event, to the dead letters. */
export const handler = kit.advertEventHandler({
  positions: 'own-write',
  onRefused: kit.sendToDeadLetters({ sqs: new SQS({}), queueUrl }),
  on: { AdvertStatusChanged: index, AdvertUnavailable: index },
});
