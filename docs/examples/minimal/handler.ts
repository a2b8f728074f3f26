import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { SQS } from '@aws-sdk/client-sqs';
import { advertEventHandler, createDynamoDbPositions, sendToDeadLetters } from 'advert-bridge-kit/subscriber';

const { POSITIONS_TABLE_NAME: tableName, DEAD_LETTER_QUEUE_URL: queueUrl } = process.env;

export const handler = advertEventHandler({
  positions: createDynamoDbPositions({ dynamodb: new DynamoDB({}), tableName }),
  onRefused: sendToDeadLetters({ sqs: new SQS({}), queueUrl }),
  on: {
    AdvertStatusChanged: async ({ detail: { data } }) => {
      console.log(`advert ${data.advertId} is ${data.status}, was ${data.previousStatus}`);
    },
    AdvertUnavailable: async ({ detail: { data } }) => console.log(`advert ${data.advertId} is gone`),
  },
});
