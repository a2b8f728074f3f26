import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { advertEventHandler, createDynamoDbPositions } from 'advert-bridge-kit/subscriber';

const { POSITIONS_TABLE_NAME: tableName, FAILS } = process.env;

export const handler = advertEventHandler({
  positions: createDynamoDbPositions({ dynamodb: new DynamoDB({}), tableName }),
  on: {
    AdvertStatusChanged: ({ detail: { data, metadata } }) => {
      const name = `${data.advertId}/${metadata.sequence}`;
      if (name === FAILS) throw new Error(`${name} fails`);
      console.log(name);
    },
  },
});
