import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { advertEventHandler, createDynamoDbStore } from 'advert-bridge/subscriber';

const store = createDynamoDbStore({ dynamodb: new DynamoDB({}), tableName: 'search-positions' });

export const handler = advertEventHandler({ store }, async ({ deliveries }) => {
  for (const { event } of deliveries) {
    if (event['detail-type'] === 'AdvertStatusChanged') console.log(event.detail.data);
  }
});
