import { CreateTableCommand } from '@aws-sdk/client-dynamodb';
import { CreateQueueCommand } from '@aws-sdk/client-sqs';
import { storeKeys } from '../../../shared/contract/names.ts';
import { type Cloud, connectTo } from '../emulator/cloud.ts';

const endpoint = process.env.AWS_ENDPOINT_URL;
if (!endpoint) throw new Error('AWS_ENDPOINT_URL is not set: npm run test:deploy starts the emulator');

/** Different from the account of the deployed stack; each test file runs in a separate process. */
let lastAccount = 400_000_000_000 + process.pid * 10_000;

/** A separate AWS account for each test, so that no table, queue or secret is shared. */
export function anAwsAccount() {
  lastAccount += 1;
  const cloud = connectTo(endpoint ?? '', String(lastAccount));
  return {
    ...cloud,
    feedStateTable: () => createTable(cloud, Object.values(storeKeys)),
    advertStatusTable: () => createTable(cloud, Object.values(storeKeys)),
    fifoQueue: (name: string) => createQueue(cloud, name),
    cleanUp: async () => cloud.close(),
  };
}

async function createTable({ dynamo: client }: Cloud, keys: readonly string[]) {
  const name = 'table';
  await client.send(
    new CreateTableCommand({
      TableName: name,
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: keys.map((key) => ({ AttributeName: key, AttributeType: 'S' })),
      KeySchema: keys.map((key, index) => ({ AttributeName: key, KeyType: index === 0 ? 'HASH' : 'RANGE' })),
    }),
  );
  return { client, name };
}

async function createQueue({ sqs: client }: Cloud, name: string) {
  const { QueueUrl: url = '' } = await client.send(
    new CreateQueueCommand({ QueueName: `${name}.fifo`, Attributes: { FifoQueue: 'true' } }),
  );
  return { client, url };
}
