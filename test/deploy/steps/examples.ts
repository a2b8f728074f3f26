import assert from 'node:assert/strict';
import { cp, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type AttributeValue, paginateScan } from '@aws-sdk/client-dynamodb';
import { ReceiveMessageCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import { countMessages } from '../../../shared/aws/sqs.ts';
import { until } from '../../helpers/until.ts';
import type { Cloud } from '../emulator/cloud.ts';
import { repository } from '../emulator/cloud.ts';
import { deployApp, type Values } from '../stack/cdk.ts';
import { type Deployment, deliver, onItsWayMs } from '../stack/deployment.ts';
import { checkedEvent, historiesOf } from '../stack/histories.ts';

/**
 * Deploys a folder of docs/examples/ as the other team would: from a separate folder, in which the example and its
 * dependencies are installed.
 *
 * @returns the outputs of its stack
 */
async function deployExample(deployment: Deployment, name: string, stack: string): Promise<Values> {
  const app = join(deployment.folder, name);
  await cp(join(repository, 'docs/examples', name), app, { recursive: true });
  // Does what `npm install` does, without downloads.
  const [installed, modules] = [join(repository, 'node_modules'), join(app, 'node_modules')];
  const kit = join(modules, 'advert-bridge-kit');
  await mkdir(kit, { recursive: true });
  for (const each of await readdir(installed)) await symlink(join(installed, each), join(modules, each));
  await symlink(repository, join(kit, 'source'));
  const exports = {
    './cdk': './source/infra/constructs/subscription/index.ts',
    './subscriber': './source/kits/typescript/index.ts',
  };
  await writeFile(join(kit, 'package.json'), JSON.stringify({ type: 'module', exports }));
  await writeFile(join(app, 'package-lock.json'), '{}');
  const outputs = await deployApp(deployment, app, '-c', `busName=${deployment.outputs.eventBusName}`);
  return outputs[stack] ?? {};
}

async function itemsOf({ dynamo }: Cloud, TableName = ''): Promise<Record<string, AttributeValue>[]> {
  const items: Record<string, AttributeValue>[] = [];
  for await (const page of paginateScan({ client: dynamo }, { TableName, ConsistentRead: true }))
    items.push(...(page.Items ?? []));
  return items;
}

const messagesIn = ({ sqs: client }: Cloud, url = ''): Promise<number> => countMessages({ client, url });

/** Waits until `look` returns what is expected. */
async function expectSoon(expected: object, look: () => Promise<object>): Promise<void> {
  const holds = async () => isDeepStrictEqual(await look(), expected);
  await until('the table', holds, { withinMs: onItsWayMs }).catch(() => undefined);
  assert.deepEqual(await look(), expected);
}

export const deploySearchIndex = (deployment: Deployment): Promise<Values> =>
  deployExample(deployment, 'search-index', 'SearchIndex');

/** Another team's table, filled by the construct and the team's own Lambda function. */
export async function searchIndexSteps(deployment: Deployment, index: Values): Promise<void> {
  const { steps, sandbox, subscriber, cloud } = deployment;
  const { control } = sandbox;
  const { TableName, QueueUrl, DeadLetterQueueUrl } = index;
  const send = (MessageBody: string) => cloud.sqs.send(new SendMessageCommand({ QueueUrl, MessageBody }));

  /** The table has the current status of each advert that ever had an event. */
  async function expectRight(): Promise<void> {
    const seen = historiesOf(subscriber.received);
    const truth = control.truth().filter(({ id }) => seen.has(id));
    const expected = Object.fromEntries(truth.map(({ id, status }) => [`main/${id}`, status]));
    await expectSoon(expected, async () => {
      const items = await itemsOf(cloud, TableName);
      return Object.fromEntries(items.map(({ pk, status }) => [pk?.S, status?.S ?? null]));
    });
    assert.equal(await messagesIn(cloud, DeadLetterQueueUrl), 0, 'dead letters of the other team');
  }

  await steps.check(
    "docs/examples/search-index: the other team's table has the partner's statuses",
    async () => {
      const [first = '', second = '', third = ''] = control.truth().map(({ id }) => id);
      control.setStatus(first, 'sold');
      control.setStatus(second, 'outdated');
      control.remove(third);
      await deliver(deployment, 3);
      await expectRight();
    },
  );

  await steps.check('… also after every event has come again, the newest first', async () => {
    for (const event of [...subscriber.received].reverse()) await send(JSON.stringify(event));
    const isIdle = async () => (await messagesIn(cloud, QueueUrl)) === 0;
    await until('the events are handled', isIdle, { withinMs: onItsWayMs });
    await expectRight();
  });

  await steps.check('… and what is no event goes to its dead letters, with the reason', async () => {
    await send('no event');
    const { Messages: [deadLetter] = [] } = await cloud.sqs.send(
      new ReceiveMessageCommand({
        QueueUrl: DeadLetterQueueUrl,
        MessageAttributeNames: ['All'],
        WaitTimeSeconds: 20,
      }),
    );
    assert.equal(deadLetter?.Body, 'no event');
    assert.equal(deadLetter.MessageAttributes?.errorCode?.StringValue, 'not-an-event');
  });
}

/** The complete subscriber that one construct creates, with its table of positions. */
export async function minimalSteps(deployment: Deployment): Promise<void> {
  const { steps, sandbox, subscriber, cloud } = deployment;

  await steps.check(
    'docs/examples/minimal: its table of positions is as far as the newest events',
    async () => {
      const { PositionsTableName, DeadLetterQueueUrl } = await deployExample(
        deployment,
        'minimal',
        'MinimalSubscriber',
      );
      const before = subscriber.received.length;
      for (const { id } of sandbox.control.truth().slice(0, 2)) sandbox.control.setStatus(id, 'limited');
      await deliver(deployment, 2);
      const newest = subscriber.received.slice(before).map((event) => {
        const { metadata, data } = checkedEvent(event).detail;
        return [`main/${data.advertId}`, `${metadata.generation}/${metadata.sequence}`];
      });
      await expectSoon(Object.fromEntries(newest), async () => {
        const items = await itemsOf(cloud, PositionsTableName);
        const positions = items.map(({ pk, generation, sequence }) => [
          pk?.S ?? '',
          `${generation?.N}/${sequence?.N}`,
        ]);
        return Object.fromEntries(positions.filter(([key]) => newest.some(([own]) => own === key)));
      });
      assert.equal(await messagesIn(cloud, DeadLetterQueueUrl), 0, 'dead letters of the minimal subscriber');
    },
  );
}
