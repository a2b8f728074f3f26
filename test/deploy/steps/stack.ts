import assert from 'node:assert/strict';
import { DescribeTableCommand } from '@aws-sdk/client-dynamodb';
import { GetFunctionConfigurationCommand } from '@aws-sdk/client-lambda';
import { DescribeSecretCommand } from '@aws-sdk/client-secrets-manager';
import { createStore } from '../../../shared/aws/store.ts';
import { settingsKey } from '../../../shared/contract/environment.ts';
import { secretNames } from '../../../shared/contract/names.ts';
import type { FeedState } from '../../../shared/state/feed-states.ts';
import type { Deployment } from '../stack/deployment.ts';
import { historiesOf } from '../stack/histories.ts';
import { deliver } from './delivery.ts';

/** The cursor of the only feed of the only partner account; undefined when nothing has been polled yet. */
async function storedCursor({ cloud, outputs }: Deployment): Promise<string | undefined> {
  const store = createStore({ feedState: { client: cloud.dynamo, name: outputs.feedStateTableName } });
  const row = await store.get({ kind: 'feed', name: 'main/adverts' });
  return (row?.value as Partial<FeedState> | undefined)?.cursor;
}

export async function updateSteps(deployment: Deployment): Promise<void> {
  const { steps, cloud, cdk, settings, outputs, sandbox, subscriber } = deployment;
  const advert = sandbox.control.truth()[0]?.id ?? '';

  await steps.check('a deploy with another setting takes effect and keeps cursor and histories', async () => {
    const cursor = await storedCursor(deployment);
    assert.ok(cursor, 'there is a cursor');
    const after = await cdk.deploy({ ...settings, overlapSeconds: '12' });
    assert.deepEqual(after, outputs);
    const { Environment } = await cloud.lambda.send(
      new GetFunctionConfigurationCommand({ FunctionName: outputs.drainFunctionName }),
    );
    const deployed = JSON.parse(Environment?.Variables?.[settingsKey] ?? '{}');
    assert.equal(deployed.overlapSeconds, 12);
    assert.equal(await storedCursor(deployment), cursor);

    const length = historiesOf(subscriber.received).get(advert)?.length ?? 0;
    assert.ok(length > 0);
    sandbox.control.setStatus(advert, 'moderated');
    await deliver(deployment, 1);
    assert.equal(historiesOf(subscriber.received).get(advert)?.length, length + 1);
  });
}

async function itemsIn({ cloud }: Deployment, TableName: string): Promise<number> {
  const { Table } = await cloud.dynamo.send(new DescribeTableCommand({ TableName }));
  return Table?.ItemCount ?? 0;
}

export async function destroySteps(deployment: Deployment): Promise<void> {
  const { steps, cloud, cdk, settings, outputs } = deployment;

  await steps.check('cdk destroy takes the functions and leaves tables and secrets', async () => {
    const cursor = await storedCursor(deployment);
    const tables = [outputs.feedStateTableName, outputs.advertStatusTableName];
    const items = () => Promise.all(tables.map((name) => itemsIn(deployment, name)));
    const before = await items();
    await cdk.destroy({ ...settings, overlapSeconds: '12' });
    await assert.rejects(
      cloud.lambda.send(new GetFunctionConfigurationCommand({ FunctionName: outputs.drainFunctionName })),
      { name: 'ResourceNotFoundException' },
    );
    if (cursor !== undefined) assert.equal(await storedCursor(deployment), cursor);
    const after = await items();
    // The schedules may have added items in the meantime.
    for (const [index, count] of before.entries())
      assert.ok((after[index] ?? 0) >= count, `${tables[index]} has its items`);
    for (const SecretId of [secretNames.application, `${secretNames.partnerAccountPrefix}main`]) {
      const { DeletedDate } = await cloud.secrets.send(new DescribeSecretCommand({ SecretId }));
      assert.equal(DeletedDate, undefined);
    }
  });
}
