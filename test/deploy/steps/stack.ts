import assert from 'node:assert/strict';
import { DescribeTableCommand } from '@aws-sdk/client-dynamodb';
import { GetFunctionConfigurationCommand } from '@aws-sdk/client-lambda';
import { DescribeSecretCommand, GetSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { createStore } from '../../../shared/aws/store.ts';
import { settingsKey } from '../../../shared/contract/environment.ts';
import { secretNames } from '../../../shared/contract/names.ts';
import type { FeedState } from '../../../shared/state/feed-states.ts';
import { functionLogs } from '../emulator/logs.ts';
import { type Deployment, deliver } from '../stack/deployment.ts';
import { historiesOf } from '../stack/histories.ts';

/** Undefined when nothing has been polled yet. */
async function storedCursor({ cloud, outputs }: Deployment): Promise<string | undefined> {
  const store = createStore({ feedState: { client: cloud.dynamo, name: outputs.feedStateTableName } });
  const row = await store.get({ kind: 'feed', name: 'main/adverts' });
  return (row?.value as Partial<FeedState> | undefined)?.cursor;
}

export async function updateSteps(deployment: Deployment): Promise<void> {
  const { steps, cloud, cdk, settings, outputs, sandbox, subscriber } = deployment;
  const advert = sandbox.control.truth()[0]?.id ?? '';
  const lengthOf = () => historiesOf(subscriber.received).get(advert)?.length ?? 0;

  await steps.check('a deploy with another setting takes effect and keeps cursor and histories', async () => {
    const cursor = await storedCursor(deployment);
    assert.ok(cursor, 'there is a cursor');
    assert.deepEqual(await cdk.deploy({ ...settings, overlapSeconds: '12' }), outputs);
    const { Environment } = await cloud.lambda.send(
      new GetFunctionConfigurationCommand({ FunctionName: outputs.drainFunctionName }),
    );
    assert.equal(JSON.parse(Environment?.Variables?.[settingsKey] ?? '{}').overlapSeconds, 12);
    assert.equal(await storedCursor(deployment), cursor);
    const length = lengthOf();
    assert.ok(length > 0);
    sandbox.control.setStatus(advert, 'moderated');
    await deliver(deployment, 1);
    assert.equal(lengthOf(), length + 1);
  });
}

export async function secrecySteps({ steps, cloud, sandbox, subscriber }: Deployment): Promise<void> {
  await steps.check('no token and no secret is in a log line or an event', async () => {
    const secrets = [sandbox.application.clientSecret, ...sandbox.users.map((user) => user.refreshToken)];
    for (const { name } of sandbox.control.users()) {
      const SecretId = `${secretNames.partnerAccountPrefix}${name}`;
      const { SecretString = '' } = await cloud.secrets.send(new GetSecretValueCommand({ SecretId }));
      const { accessToken, refreshToken } = JSON.parse(SecretString);
      assert.ok(accessToken && refreshToken);
      secrets.push(accessToken, refreshToken);
    }
    const lines = [...(await functionLogs(cloud.endpoint)).values()].flat();
    assert.ok(lines.length > 0, 'the functions log');
    for (const text of [...lines, ...subscriber.received.map((event) => JSON.stringify(event))]) {
      for (const secret of secrets)
        assert.ok(!text.includes(secret), text.replaceAll(secret, '[here]').slice(0, 300));
    }
  });
}

export async function destroySteps(deployment: Deployment): Promise<void> {
  const { steps, cloud, cdk, settings, outputs } = deployment;

  await steps.check('cdk destroy takes the functions and leaves tables and secrets', async () => {
    const cursor = await storedCursor(deployment);
    const items = async (TableName: string) =>
      (await cloud.dynamo.send(new DescribeTableCommand({ TableName }))).Table?.ItemCount ?? 0;
    const tables = [outputs.feedStateTableName, outputs.advertStatusTableName];
    const before = await Promise.all(tables.map(items));
    await cdk.destroy({ ...settings, overlapSeconds: '12' });
    await assert.rejects(
      cloud.lambda.send(new GetFunctionConfigurationCommand({ FunctionName: outputs.drainFunctionName })),
      { name: 'ResourceNotFoundException' },
    );
    if (cursor !== undefined) assert.equal(await storedCursor(deployment), cursor);
    // The schedules may have added items in the meantime.
    for (const [index, table] of tables.entries())
      assert.ok((await items(table)) >= (before[index] ?? 0), `${table} has its items`);
    for (const SecretId of [secretNames.application, `${secretNames.partnerAccountPrefix}main`]) {
      const { DeletedDate } = await cloud.secrets.send(new DescribeSecretCommand({ SecretId }));
      assert.equal(DeletedDate, undefined);
    }
  });
}
