import type { AddressInfo } from 'node:net';
import { CreateTableCommand, DescribeTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SQSClient } from '@aws-sdk/client-sqs';
import dynalite from 'dynalite';
import conditions from 'dynalite/db/index.js';
import updateItem from 'dynalite/validations/updateItem.js';
import { interceptLocalhostDns, startFauxqs } from 'fauxqs';
import { storeKeys } from '../../../shared/contract/names.ts';

const credentials = { accessKeyId: '000000000000', secretAccessKey: 'test' };

/** dynalite drops the fields of a request that it does not know. */
updateItem.types.ReturnValuesOnConditionCheckFailure = { type: 'String', enum: ['ALL_OLD', 'NONE'] };
const { checkConditional } = conditions;
/** Like AWS, sends the item that did not meet a condition, if the request asks for it; dynalite alone does not. */
conditions.checkConditional = (data, item) => {
  const refused = checkConditional(data, item);
  const isAsked = data.ReturnValuesOnConditionCheckFailure === 'ALL_OLD';
  if (refused && item && isAsked) refused.body = { ...refused.body, Item: item };
  return refused;
};

/** DynamoDB in this process, on dynalite; tables are made as they are asked for. */
export async function startDynamo() {
  const server = dynalite({ createTableMs: 0 });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const newClient = () => new DynamoDBClient({ endpoint: url, region: 'eu-central-1', credentials });
  const client = newClient();
  let tables = 0;

  async function createTable(keys: readonly string[]) {
    tables += 1;
    const name = `table-${tables}`;
    await client.send(
      new CreateTableCommand({
        TableName: name,
        BillingMode: 'PAY_PER_REQUEST',
        AttributeDefinitions: keys.map((key) => ({ AttributeName: key, AttributeType: 'S' })),
        KeySchema: keys.map((key, index) => ({
          AttributeName: key,
          KeyType: index === 0 ? 'HASH' : 'RANGE',
        })),
      }),
    );
    const status = async () => {
      const { Table } = await client.send(new DescribeTableCommand({ TableName: name }));
      return Table?.TableStatus;
    };
    while ((await status()) !== 'ACTIVE');
    return { client, name };
  }

  return {
    url,
    newClient,
    feedStateTable: () => createTable(Object.values(storeKeys)),
    advertStatusTable: () => createTable(Object.values(storeKeys)),
    /** Of a subscriber, for its positions. */
    positionsTable: () => createTable([storeKeys.partitionKey]),
    async stop() {
      client.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** SQS in this process, on fauxqs; each pair of queues is new. */
export async function startSqs() {
  // It knows its queues by host names such as sqs.us-east-1.localhost, which not every machine resolves.
  const restoreDns = interceptLocalhostDns();
  const server = await startFauxqs({ port: 0, logger: false });
  const client = new SQSClient({ endpoint: server.address, region: 'us-east-1', credentials });
  // All that the emulator holds is there at once: waiting for more only costs the test its second.
  client.middlewareStack.add(
    (next, { commandName }) =>
      (args) => {
        if (commandName !== 'ReceiveMessageCommand') return next(args);
        return next({ ...args, input: { ...args.input, WaitTimeSeconds: 0 } as typeof args.input });
      },
    { step: 'initialize', name: 'noWait' },
  );
  let queues = 0;

  function createQueue(kind: 'fifo' | 'standard' = 'fifo') {
    queues += 1;
    const isFifo = kind === 'fifo';
    const name = `queue-${queues}${isFifo ? '.fifo' : ''}`;
    const { queueUrl } = server.createQueue(name, isFifo ? { attributes: { FifoQueue: 'true' } } : {});
    /** In flight included, oldest first. */
    const messages = () => {
      const { ready = [], inflight = [] } = server.inspectQueue(name)?.messages ?? {};
      return [...ready, ...inflight.map(({ message }) => message)]
        .sort((a, b) => ((a.sequenceNumber ?? '') < (b.sequenceNumber ?? '') ? -1 : 1))
        .map(({ body, messageGroupId: groupId = '' }) => ({ body, groupId }));
    };
    return {
      client,
      url: queueUrl,
      /** The contents of the queue, including messages in flight, without receiving any of them. */
      bodies: (): string[] => messages().map(({ body }) => body),
      messages,
    };
  }

  return {
    url: server.address,
    createQueue,
    async stop() {
      client.destroy();
      await server.stop();
      restoreDns();
    },
  };
}
