import assert from 'node:assert/strict';
import { GetFunctionEventInvokeConfigCommand, InvokeCommand } from '@aws-sdk/client-lambda';
import { DescribeSecretCommand } from '@aws-sdk/client-secrets-manager';
import { GetQueueAttributesCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { startSandbox } from '../../../sandbox/server.ts';
import { type Deployment, onItsWayMs } from '../stack/deployment.ts';
import { drain } from '../stack/functions.ts';
import { historiesOf } from '../stack/histories.ts';
import { deployShop } from '../stack/shop.ts';
import { subscribe } from '../stack/subscriber.ts';

/**
 * Deploys two bridges in a stack of another team, next to this one: each with its own service, and with partner
 * accounts of the same name. The second bridge has a KMS key and is in a network. The emulator supports the key only
 * for queues and secrets, and ignores the network: this test does not show that the functions work in a network. Its
 * rules ignore what a function's settings say about failures, so the function is invoked as EventBridge would.
 */
export async function constructSteps(deployment: Deployment): Promise<void> {
  const { steps, cloud, advertBridge, closing } = deployment;
  const start = async () => {
    const service = await startSandbox({ visibilityDelayMs: 0 });
    closing.push(() => service.close());
    return service;
  };
  const bridges = [
    { prefix: 'First', stack: 'Shop/Shop', service: await start(), statuses: ['active', 'limited'] },
    { prefix: 'Second', stack: 'Shop/Second', service: await start(), statuses: ['unpaid', 'active'] },
  ];

  const outputs = await steps.need('a fresh app with two bridges is deployed, out of the package', () =>
    deployShop(
      deployment,
      bridges.map(({ service }) => service.url),
    ),
  );

  await steps.check('each connects a partner account of the same name', async () => {
    const { stderr } = await advertBridge.run(['status', '--stack', 'Nothing'], '', { expected: [1] });
    for (const name of ['AdvertBridge', 'Shop/Second', 'Shop/Shop']) assert.ok(stderr.includes(name), stderr);
    for (const { stack, service } of bridges) {
      const { application, users } = service;
      const stored = ['application', '--stack', stack, '--client-id', application.clientId];
      await advertBridge.run([...stored, '--client-secret-stdin'], application.clientSecret);
      const connected = ['connect', 'main', '--stack', stack, '--refresh-token-stdin'];
      await advertBridge.run(connected, users[0]?.refreshToken);
    }
  });

  await steps.check('the second one keeps messages and secrets under its own key', async () => {
    const keyOf = async (SecretId: string) =>
      (await cloud.secrets.send(new DescribeSecretCommand({ SecretId }))).KmsKeyId;
    const QueueUrl = outputs.SecondDeadLetterQueueUrl;
    const { Attributes } = await cloud.sqs.send(
      new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['KmsMasterKeyId'] }),
    );
    const { KeyArn } = outputs;
    const secrets = ['Second/application', 'Second/partner-accounts/main', 'Shop/partner-accounts/main'];
    assert.deepEqual(
      [Attributes?.KmsMasterKeyId, ...(await Promise.all(secrets.map(keyOf)))],
      [KeyArn, KeyArn, KeyArn, undefined],
    );
  });

  await steps.check('secrets that are made at run time have the tags of the stack', async () => {
    for (const account of ['Shop/partner-accounts/main', 'Second/partner-accounts/main']) {
      const { Tags = [] } = await cloud.secrets.send(new DescribeSecretCommand({ SecretId: account }));
      assert.deepEqual(
        Tags.filter(({ Key }) => Key === 'cost-center').map(({ Value }) => Value),
        ['42'],
      );
    }
  });

  await steps.check('what a function with settings of its own fails to handle is a dead letter', async () => {
    const { TargetName: FunctionName, TargetDeadLetterQueueUrl: QueueUrl } = outputs;
    const latest = { FunctionName, Qualifier: '$LATEST' };
    const settings = await cloud.lambda.send(new GetFunctionEventInvokeConfigCommand(latest));
    assert.equal(settings.MaximumRetryAttempts, 1);
    const event = { 'detail-type': 'AdvertStatusChanged' };
    await cloud.lambda.send(
      new InvokeCommand({ FunctionName, InvocationType: 'Event', Payload: JSON.stringify(event) }),
    );
    const { Messages: [deadLetter] = [] } = await cloud.sqs.send(
      new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 20 }),
    );
    assert.deepEqual(JSON.parse(deadLetter?.Body ?? '{}').requestPayload, event);
  });

  await steps.check('each publishes the histories of its own service, and nothing of the other', async () => {
    for (const { prefix, service, statuses } of bridges) {
      const subscriber = await subscribe(cloud, outputs[`${prefix}EventBusName`] ?? '', { team: prefix });
      const ids = service.control
        .truth()
        .slice(0, 3)
        .map(({ id }) => id);
      for (const [index, status] of statuses.entries()) {
        for (const id of ids) service.control.setStatus(id, status);
        await drain(cloud, outputs[`${prefix}DrainFunctionName`] ?? '');
        await subscriber.readUntil(({ length }) => length >= ids.length * (index + 1), onItsWayMs);
      }
      assert.deepEqual(historiesOf(subscriber.received), new Map(ids.map((id) => [id, statuses])));
    }
  });
}
