import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { SQS } from '@aws-sdk/client-sqs';
import { advertEventHandler, createDynamoDbStore, sendToDeadLetters } from 'advert-bridge/subscriber';

export const handler = advertEventHandler(
  {
    store: createDynamoDbStore({ dynamodb: new DynamoDB({}), tableName: 'search-positions' }),
    onRefused: sendToDeadLetters({ sqs: new SQS({}), queueUrl: process.env.DEAD_LETTER_QUEUE_URL ?? '' }),
    onSkipped: (event, outcome) => console.log(outcome, event.detail.metadata.eventId),
  },
  async ({ deliveries }) => {
    for (const { event } of deliveries) console.log(event['detail-type']);
  },
);
