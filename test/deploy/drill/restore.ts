import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DeleteTableCommand, DescribeTableCommand, UpdateTableCommand } from '@aws-sdk/client-dynamodb';
import { awsAccount, connectTo } from '../emulator/cloud.ts';
import { advertBridgeOn } from '../stack/advert-bridge.ts';
import { cdkOn } from '../stack/cdk.ts';
import { connectUser, type Deployment, deliver, settled } from '../stack/deployment.ts';
import { drain } from '../stack/functions.ts';
import { expectHeld, heldOf } from '../stack/histories.ts';
import { shellOf } from '../stack/shell.ts';
import { subscribe } from '../stack/subscriber.ts';

const page = 'docs/operate/backup.md';
/** A time shortly before now, as the page asks for. */
const shortlyBefore = (): string => new Date(Date.now() - 60_000).toISOString();
/** The same, with any port for the browser, because the usual one may be in use. */
const inBrowser = (): string => `${shortlyBefore()} --port 0`;

/** Moves a bridge to another region, as the page describes, together with a subscriber. */
export async function regionSteps(deployment: Deployment): Promise<void> {
  const { steps, settings, sandbox, subscriber, emulator, processes } = deployment;
  const { control, application } = sandbox;
  const [account, region] = ['moved', 'eu-west-1'];

  await steps.check('a bridge moves to another region, and its subscriber holds what is so', async () => {
    const [first = '', second = ''] = await connectUser(deployment, account, 6);
    for (const id of [first, second]) control.setStatus(id, 'active');
    await deliver(deployment, 2);
    await (await shellOf(deployment, page)).follow('move-away', { NAME: account });
    control.setStatus(first, 'limited');

    const folder = join(deployment.folder, region);
    const env = { ...deployment.env, AWS_REGION: region };
    await mkdir(folder);
    const cdk = cdkOn(env, folder, processes);
    const advertBridge = advertBridgeOn(env, processes);
    const cloud = connectTo(emulator.endpoint, awsAccount, region);
    try {
      await cdk.bootstrap();
      const outputs = await cdk.deploy(settings);
      assert.match(outputs.eventBusArn, new RegExp(`:${region}:`));
      const stored = ['application', '--client-id', application.clientId, '--client-secret-stdin', '--check'];
      await advertBridge.run(stored, application.clientSecret);
      const moved = await subscribe(cloud, outputs.eventBusName, { team: account });
      const shell = await shellOf({ ...deployment, env, folder }, page, cdk.asTyped(settings));
      await shell.follow('move-here', { NAME: account, TIME: inBrowser() });
      await drain(cloud, outputs.drainFunctionName);
      await settled(advertBridge);
      await expectHeld(control, account, moved, { before: subscriber.received });
    } finally {
      cloud.close();
    }
  });
}

/**
 * Restores tables under other names, deploys with them, and loses tables, with the commands of the page.
 * test/infra/stack.test.ts checks that the functions may use only these tables;
 * test/unit/functions/restored-tables.test.ts shows what would happen if sequence numbers were used twice.
 *
 * @returns the resulting deployment
 */
export async function restoreSteps(deployment: Deployment): Promise<Deployment> {
  const { steps, cloud, cdk, settings, outputs, sandbox, subscriber, advertBridge } = deployment;
  const { control } = sandbox;
  const [NAME, feedStateTable, advertStatusTable] = ['restored', 'restored-feeds', 'restored-adverts'];
  const { follow } = await shellOf(deployment, page, cdk.asTyped(settings));
  const adverts = await connectUser(deployment, NAME, 6);
  const [first = '', second = '', third = '', fourth = ''] = adverts;
  const poll = () => drain(cloud, outputs.drainFunctionName);

  async function lose(TableName: string): Promise<void> {
    await cloud.dynamo.send(new UpdateTableCommand({ TableName, DeletionProtectionEnabled: false }));
    await cloud.dynamo.send(new DeleteTableCommand({ TableName }));
  }
  async function expectHeldIsTrue(): Promise<void> {
    await settled(advertBridge);
    await expectHeld(control, NAME, subscriber);
  }

  await steps.check('restore: the feed-state table, taken in by a deployment, leaves no gap', async () => {
    for (const id of [first, second]) control.setStatus(id, 'active');
    await deliver(deployment, 2);
    await follow('restore-table', { TABLE: outputs.feedStateTableName, RESTORED: feedStateTable });
    const { Table } = await cloud.dynamo.send(new DescribeTableCommand({ TableName: feedStateTable }));
    assert.equal(Table?.DeletionProtectionEnabled, true);
    // The restored row then names a different token than the secret.
    control.expireAccessTokens(NAME);
    control.setStatus(first, 'limited');
    await deliver(deployment, 1);
    control.setStatus(second, 'limited');
    await follow('take-in-table', { SETTING: 'feedStateTable', RESTORED: feedStateTable });
    await lose(outputs.feedStateTableName);
    await deliver(deployment, 1);
    await follow('resync-restored', { NAME, TIME: new Date(Date.now() - 3_600_000).toISOString() });
    for (const id of [first, third]) control.setStatus(id, 'unpaid');
    await deliver(deployment, 2);
    await settled(advertBridge);
    assert.equal(heldOf(subscriber.received, NAME).generations.size, 1, 'generations');
  });

  await steps.check('restore: the advert-status table is lost, and a new generation begins', async () => {
    const TABLE = outputs.advertStatusTableName;
    await follow('restore-table', { TABLE, RESTORED: advertStatusTable });
    control.setStatus(first, 'active');
    await deliver(deployment, 1);
    await lose(TABLE);
    for (const id of [first, second]) control.setStatus(id, 'outdated');
    await poll();
    await follow('new-generation', { NAME, TIME: shortlyBefore() });
    const withBoth = await shellOf(deployment, page, cdk.asTyped({ ...settings, feedStateTable }));
    await withBoth.follow('take-in-table', { SETTING: 'advertStatusTable', RESTORED: advertStatusTable });
    await poll();
    await follow('backfill', { NAME });
    await expectHeldIsTrue();
  });

  await steps.check('restore: the feed-state table is lost, and there is none to be restored', async () => {
    await lose(feedStateTable);
    control.setStatus(fourth, 'limited');
    await follow('empty-table', { TABLE: feedStateTable });
    await follow('connect-anew', { NAME, TIME: inBrowser() });
    await poll();
    await expectHeldIsTrue();
  });

  await steps.check('restore: an empty table does in place of the advert-status table', async () => {
    await lose(advertStatusTable);
    control.setStatus(third, 'active');
    await follow('new-generation', { NAME, TIME: shortlyBefore() });
    await follow('empty-table', { TABLE: advertStatusTable });
    await poll();
    await follow('backfill', { NAME });
    await expectHeldIsTrue();
  });

  return {
    ...deployment,
    settings: { ...settings, feedStateTable, advertStatusTable },
    outputs: { ...outputs, feedStateTableName: feedStateTable, advertStatusTableName: advertStatusTable },
  };
}
