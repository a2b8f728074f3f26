import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DeleteTableCommand, DescribeTableCommand, UpdateTableCommand } from '@aws-sdk/client-dynamodb';
import { repository } from '../emulator/cloud.ts';
import type { Deployment } from '../stack/deployment.ts';
import { drain } from '../stack/functions.ts';
import { deliver } from '../steps/delivery.ts';
import { expectHeld, heldOf, settled } from './held.ts';
import { commandsOf, pageOf } from './page.ts';
import { shellOf } from './run.ts';
import type { Around } from './scene.ts';

const account = 'restored';
const restoredFeedState = 'restored-feed-state';
const restoredAdvertStatus = 'restored-advert-status';

/** Runs a block of docs/operate/backup.md with values filled in, and returns its output. */
export type Follow = (block: string, values: Readonly<Record<string, string>>) => Promise<string>;

/** @param npx script that runs `npx cdk …` */
export async function followBackup(
  deployment: Pick<Deployment, 'say'>,
  around: Around,
  npx: string,
): Promise<Follow> {
  const page = pageOf(await readFile(join(repository, 'docs/operate/backup.md'), 'utf8'));
  const shell = await shellOf(deployment, around, npx);
  return async (name, values) => {
    const { stdout, stderr } = await shell.run(commandsOf(page, name, values), [0]);
    return `${stdout}${stderr}`;
  };
}

/**
 * A time shortly before now, as the page asks for, and any port for the browser, because the usual one may be in use.
 */
export const shortlyBefore = (): string => `${new Date(Date.now() - 60_000).toISOString()} --port 0`;

/**
 * Restores tables under other names, deploys with them, and loses tables, with the commands of
 * docs/operate/backup.md. test/infra/stack.test.ts checks that the functions may use only these tables;
 * test/unit/functions/restored-tables.test.ts shows what would happen if sequence numbers were used twice.
 *
 * @returns the resulting deployment
 */
export async function restoreSteps(deployment: Deployment, around: Around): Promise<Deployment> {
  const { steps, cloud, cdk, settings, outputs, sandbox, subscriber, advertBridge } = deployment;
  const { control } = sandbox;
  const refreshToken = `sandbox-refresh-token-${account}`;
  control.addUser(account, { adverts: 6, refreshToken });
  control.setConsent({ mode: 'allow', user: account });
  const [first = '', second = '', third = '', fourth = ''] = control.truth(account).map(({ id }) => id);
  const follow = await followBackup(deployment, around, cdk.asTyped(settings));
  const takenIn = { ...settings, feedStateTable: restoredFeedState };

  async function lose(TableName: string): Promise<void> {
    await cloud.dynamo.send(new UpdateTableCommand({ TableName, DeletionProtectionEnabled: false }));
    await cloud.dynamo.send(new DeleteTableCommand({ TableName }));
  }

  /** Waits until no message is waiting, then checks that a subscriber has the real status of each advert. */
  async function expectHeldIsTrue(): Promise<void> {
    await settled(advertBridge);
    await expectHeld(control, account, subscriber);
  }

  await steps.need('restore: a partner account with two events', async () => {
    await advertBridge.run(['connect', account, '--refresh-token-stdin'], refreshToken);
    for (const id of [first, second]) control.setStatus(id, 'active');
    await deliver(deployment, 2);
  });

  await steps.check('restore: the feed-state table is restored under another name', async () => {
    await follow('restore-table', { TABLE: outputs.feedStateTableName, RESTORED: restoredFeedState });
    const { Table } = await cloud.dynamo.send(new DescribeTableCommand({ TableName: restoredFeedState }));
    assert.equal(Table?.DeletionProtectionEnabled, true);
  });

  await steps.check('restore: taken in by a deployment, the events go on without a gap', async () => {
    // The restored row then names a different token than the secret.
    control.expireAccessTokens(account);
    control.setStatus(first, 'limited');
    await deliver(deployment, 1);
    control.setStatus(second, 'limited');
    await follow('take-in-table', { SETTING: 'feedStateTable', RESTORED: restoredFeedState });
    await lose(outputs.feedStateTableName);
    await deliver(deployment, 1);
    await follow('resync-restored', { NAME: account, TIME: new Date(Date.now() - 3_600_000).toISOString() });
    control.setStatus(first, 'unpaid');
    control.setStatus(third, 'unpaid');
    await deliver(deployment, 2);
    await settled(advertBridge);
    const { generations } = heldOf(subscriber.received, account);
    assert.equal(generations.size, 1, 'generations');
  });

  await steps.check('restore: the advert-status table is lost, and a new generation begins', async () => {
    const { advertStatusTableName: TABLE } = outputs;
    await follow('restore-table', { TABLE, RESTORED: restoredAdvertStatus });
    control.setStatus(first, 'active');
    await deliver(deployment, 1);
    await lose(TABLE);
    control.setStatus(first, 'outdated');
    control.setStatus(second, 'outdated');
    await drain(cloud, outputs.drainFunctionName);
    await follow('new-generation', { NAME: account, TIME: new Date(Date.now() - 60_000).toISOString() });
    const withBoth = await followBackup(deployment, around, cdk.asTyped(takenIn));
    await withBoth('take-in-table', { SETTING: 'advertStatusTable', RESTORED: restoredAdvertStatus });
    await drain(cloud, outputs.drainFunctionName);
    await follow('backfill', { NAME: account });
    await expectHeldIsTrue();
  });

  await steps.check('restore: the feed-state table is lost, and there is none to be restored', async () => {
    await lose(restoredFeedState);
    control.setStatus(fourth, 'limited');
    await follow('empty-feed-state', { TABLE: restoredFeedState });
    await follow('connect-anew', { NAME: account, TIME: shortlyBefore() });
    await drain(cloud, outputs.drainFunctionName);
    await expectHeldIsTrue();
  });

  await steps.check('restore: an empty table does in place of the advert-status table', async () => {
    await lose(restoredAdvertStatus);
    control.setStatus(third, 'active');
    await follow('new-generation', { NAME: account, TIME: new Date(Date.now() - 60_000).toISOString() });
    await follow('empty-advert-status', { TABLE: restoredAdvertStatus });
    await drain(cloud, outputs.drainFunctionName);
    await follow('backfill', { NAME: account });
    await expectHeldIsTrue();
  });

  return {
    ...deployment,
    settings: { ...takenIn, advertStatusTable: restoredAdvertStatus },
    outputs: {
      ...outputs,
      feedStateTableName: restoredFeedState,
      advertStatusTableName: restoredAdvertStatus,
    },
  };
}
