import { ConditionalCheckFailedException, type DynamoDB } from '@aws-sdk/client-dynamodb';
import { type AdvertEvent, advertKeyOf, newerCondition } from 'advert-bridge-kit/subscriber';

/** @returns whether the event was applied; false: it was stale or a duplicate */
export async function keepStatus(dynamodb: DynamoDB, tableName: string, event: AdvertEvent) {
  const newer = newerCondition(event, { marshalled: true });
  const { status } = event.detail.data;
  try {
    await dynamodb.updateItem({
      TableName: tableName,
      Key: { pk: { S: advertKeyOf(event) } },
      UpdateExpression: `SET ${newer.setPosition}, #status = :status`,
      ConditionExpression: newer.ConditionExpression,
      ExpressionAttributeNames: { ...newer.ExpressionAttributeNames, '#status': 'status' },
      ExpressionAttributeValues: {
        ...newer.ExpressionAttributeValues,
        ':status': status === null ? { NULL: true } : { S: status },
      },
    });
    return true;
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return false;
    throw error;
  }
}
