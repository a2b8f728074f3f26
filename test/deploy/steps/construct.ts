import assert from 'node:assert/strict';
import { DescribeSecretCommand } from '@aws-sdk/client-secrets-manager';
import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { startSandbox } from '../../../sandbox/server.ts';
import type { Processes } from '../emulator/processes.ts';
import { type Deployment, onItsWayMs } from '../stack/deployment.ts';
import { drain } from '../stack/functions.ts';
import { historiesOf } from '../stack/histories.ts';
import { deployShop } from '../stack/shop.ts';
import { subscribe } from '../stack/subscriber.ts';

interface Around {
  readonly env: Record<string, string>;
  readonly folder: string;
  readonly processes: Processes;
  readonly closing: (() => Promise<void> | void)[];
}

/**
 * Deploys two bridges in a stack of another team, next to this one: each with its own service, and with partner
 * accounts of the same name. The second bridge has a KMS key and is in a network. The emulator supports the key only
 * for queues and secrets, and ignores the network: this test does not show that the functions work in a network.
 */
export async function constructSteps(deployment: Deployment, around: Around): Promise<void> {
  const { steps, cloud, advertBridge } = deployment;
  const { env, folder, processes, closing } = around;
  const services = [
    await startSandbox({ visibilityDelayMs: 0 }),
    await startSandbox({ visibilityDelayMs: 0 }),
  ] as const;
  for (const service of services) closing.push(() => service.close());
  const [first, second] = services;

  const outputs = await steps.need(
    'a fresh app of ten lines with two bridges is deployed, out of the package',
    () => deployShop([first.url, second.url], env, folder, processes),
  );
  const bridges = [
    { place: 'First', stack: 'Shop/Shop', service: first, statuses: ['active', 'limited'] },
    { place: 'Second', stack: 'Shop/Second', service: second, statuses: ['unpaid', 'active'] },
  ];

  await steps.check('status of a stack that is not there names them, beside our own', async () => {
    const { stderr } = await advertBridge.run(['status', '--stack', 'Nothing'], undefined, [1]);
    for (const name of ['AdvertBridge', 'Shop/Second', 'Shop/Shop']) assert.ok(stderr.includes(name), stderr);
  });

  await steps.check('each connects a partner account of the same name, with secrets of its own', async () => {
    for (const { stack, service } of bridges) {
      const { application, users } = service;
      const stored = ['application', '--stack', stack, '--client-id', application.clientId];
      await advertBridge.run([...stored, '--client-secret-stdin'], application.clientSecret);
      const connected = ['connect', 'main', '--stack', stack, '--refresh-token-stdin'];
      await advertBridge.run(connected, users[0]?.refreshToken);
    }
  });

  await steps.check(
    'the second one keeps messages and secrets under its own key, those made later among them',
    async () => {
      const keyOf = async (secret: string) =>
        (await cloud.secrets.send(new DescribeSecretCommand({ SecretId: secret }))).KmsKeyId;
      const { Attributes } = await cloud.sqs.send(
        new GetQueueAttributesCommand({
          QueueUrl: outputs.SecondDeadLetterQueueUrl,
          AttributeNames: ['KmsMasterKeyId'],
        }),
      );
      assert.deepEqual(
        {
          deadLetters: Attributes?.KmsMasterKeyId,
          application: await keyOf('Second/application'),
          tokens: await keyOf('Second/partner-accounts/main'),
          ofTheFirst: await keyOf('Shop/partner-accounts/main'),
        },
        {
          deadLetters: outputs.KeyArn,
          application: outputs.KeyArn,
          tokens: outputs.KeyArn,
          ofTheFirst: undefined,
        },
      );
    },
  );

  await steps.check('each publishes the histories of its own service, and nothing of the other', async () => {
    for (const { place, service, statuses } of bridges) {
      const types = ['AdvertStatusChanged', 'AdvertUnavailable'];
      const bus = outputs[`${place}EventBusName`] ?? '';
      const subscriber = await subscribe(cloud, bus, { team: place, types });
      const ids = service.control
        .truth()
        .slice(0, 3)
        .map(({ id }) => id);
      for (const [index, status] of statuses.entries()) {
        for (const id of ids) service.control.setStatus(id, status);
        await drain(cloud, outputs[`${place}DrainFunctionName`] ?? '');
        await subscriber.readUntil(({ length }) => length >= ids.length * (index + 1), onItsWayMs);
      }
      assert.deepEqual(
        Object.fromEntries(historiesOf(subscriber.received)),
        Object.fromEntries(ids.map((id) => [id, statuses])),
      );
    }
  });
}
