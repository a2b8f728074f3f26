import { CreateTableCommand } from '@aws-sdk/client-dynamodb';
import { CreateEventBusCommand } from '@aws-sdk/client-eventbridge';
import { CreateSecretCommand, PutSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { CreateQueueCommand } from '@aws-sdk/client-sqs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { classicEventBus, createEventPublisher } from '../../../shared/aws/event-publisher.ts';
import { createApplicationSecret, createTokenVault } from '../../../shared/aws/secrets.ts';
import { createStore } from '../../../shared/aws/store.ts';
import { eventSource, secretNames, storeKeys } from '../../../shared/contract/names.ts';
import { aReadersPolicy } from '../../helpers/aws/fake-secrets-manager.ts';
import { anEnvelope } from '../../helpers/aws/fixtures.ts';
import { applicationSecretSuite } from '../../ports/application-secret.suite.ts';
import { changedAdvertsQueueSuite } from '../../ports/changed-adverts-queue.suite.ts';
import { sqsCapabilities, sqsQueue } from '../../ports/sqs-queue.ts';
import { storeSuite } from '../../ports/store.suite.ts';
import { tokenVaultSuite } from '../../ports/token-vault.suite.ts';
import { connectTo } from '../emulator/cloud.ts';
import { subscribe } from '../stack/subscriber.ts';

const endpoint = process.env.AWS_ENDPOINT_URL;
if (!endpoint) throw new Error('AWS_ENDPOINT_URL is not set: npm run test:deploy starts the emulator');

/** Different from the account of the deployed stack. */
let lastAccount = 400_000_000_000;

/** A separate AWS account for each test, so that no table, queue or secret is shared. */
function anAwsAccount() {
  lastAccount += 1;
  const cloud = connectTo(endpoint ?? '', String(lastAccount));
  return { ...cloud, cleanUp: async () => cloud.close() };
}

storeSuite('DynamoDB (MiniStack)', async () => {
  const { dynamo: client, cleanUp } = anAwsAccount();
  const keys = Object.values(storeKeys);
  await client.send(
    new CreateTableCommand({
      TableName: 'table',
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: keys.map((key) => ({ AttributeName: key, AttributeType: 'S' })),
      KeySchema: keys.map((key, index) => ({ AttributeName: key, KeyType: index === 0 ? 'HASH' : 'RANGE' })),
    }),
  );
  const table = { client, name: 'table' };
  return { store: createStore({ feedState: table, advertStatus: table }), cleanUp };
});

changedAdvertsQueueSuite('SQS (MiniStack)', sqsCapabilities, async () => {
  const { sqs: client, cleanUp } = anAwsAccount();
  const { QueueUrl: url = '' } = await client.send(
    new CreateQueueCommand({ QueueName: 'changed-adverts.fifo', Attributes: { FifoQueue: 'true' } }),
  );
  return { queue: sqsQueue({ client, url }), cleanUp };
});

tokenVaultSuite('Secrets Manager (MiniStack)', async () => {
  const { secrets, cleanUp } = anAwsAccount();
  return {
    vault: createTokenVault(secrets, secretNames, aReadersPolicy),
    edit: async (partnerAccount, text) => {
      const SecretId = secretNames.partnerAccountPrefix + partnerAccount;
      await secrets.send(new PutSecretValueCommand({ SecretId, SecretString: text }));
    },
    cleanUp,
  };
});

applicationSecretSuite('Secrets Manager (MiniStack)', async (text) => {
  const { secrets, cleanUp } = anAwsAccount();
  await secrets.send(new CreateSecretCommand({ Name: secretNames.application, SecretString: text }));
  return { applicationSecret: createApplicationSecret(secrets, secretNames), cleanUp };
});

describe('EventBridge (MiniStack): event publisher', () => {
  /** A bus with a subscriber and the bridge's publisher. */
  async function aBus() {
    const account = anAwsAccount();
    onTestFinished(account.cleanUp);
    await account.eventBridge.send(new CreateEventBusCommand({ Name: 'adverts' }));
    const subscriber = await subscribe(account, 'adverts');
    return { ...createEventPublisher(classicEventBus(account.eventBridge, 'adverts')), subscriber };
  }

  it('accepts more at once than one call takes, and loses none', async () => {
    const { publish, subscriber } = await aBus();
    const ids = Array.from({ length: 35 }, (_, index) => String(index));
    await Promise.all(ids.map((id) => publish(anEnvelope(id, 1))));
    await subscriber.readUntil((events) => events.length === ids.length, 10_000);
    const resources = subscriber.received.map((event) => String(event.resources));
    expect(new Set(resources)).toEqual(new Set(ids.map((id) => `advert-bridge/main/advert/${id}`)));
  });

  it('throws only for the event that the bus refuses inside an answer of 200', async () => {
    const { publish, subscriber } = await aBus();
    const forbidden = anEnvelope('6', 1).replace(`"${eventSource}"`, '"aws.forged"');
    const [refused, fine] = await Promise.allSettled([publish(forbidden), publish(anEnvelope('7', 1))]);
    expect(refused).toMatchObject({
      status: 'rejected',
      reason: { name: 'RefusedEventError', code: 'NotAuthorizedForSourceException' },
    });
    expect(fine.status).toBe('fulfilled');
    expect(await subscriber.readUntil((events) => events.length === 1, 5_000)).toBe(true);
  });
});
