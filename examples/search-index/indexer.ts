import { ConditionalCheckFailedException, DynamoDB } from '@aws-sdk/client-dynamodb';
import { SQS } from '@aws-sdk/client-sqs';
import * as kit from 'advert-bridge/subscriber';

const { TABLE_NAME: TableName, DEAD_LETTER_QUEUE_URL: queueUrl = '' } = process.env;
const dynamodb = new DynamoDB({});
const onRefused = kit.sendToDeadLetters({ sqs: new SQS({}), queueUrl });

/** One write an event, which holds only if the table has no newer one. */
async function index(event: kit.BridgeEvent): Promise<void> {
  if (event['detail-type'] !== 'AdvertStatusChanged' && event['detail-type'] !== 'AdvertUnavailable') return;
  const { status } = event.detail.data;
  const { setPosition, ...newer } = kit.onlyIfNewerItem(event);
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
export const handler = kit.advertEventHandler(
  { store: kit.inOwnWrite, onRefused },
  async ({ deliveries }) => {
    for (const { event } of deliveries) await index(event);
  },
);
