import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { advertEventHandler, createDynamoDbPositions } from 'advert-bridge-kit/subscriber';

export const handler = advertEventHandler({
  positions: createDynamoDbPositions({ dynamodb: new DynamoDB({}), tableName: 'search-positions' }),
  on: {
    AdvertStatusChanged: async ({ detail: { data } }) => console.log(data.advertId, data.status),
    AdvertUnavailable: async ({ detail: { data } }) => console.log(data.advertId, 'is gone'),
  },
});
