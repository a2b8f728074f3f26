import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DeleteItemCommand, paginateScan } from '@aws-sdk/client-dynamodb';
import { advertStatusTable } from '../../../shared/contract/tables.ts';
import { repository } from '../emulator/cloud.ts';
import type { Processes } from '../emulator/processes.ts';
import { awsCommandLine, pythonEnvironment } from '../emulator/python.ts';
import { type Deployment, onItsWayMs } from '../stack/deployment.ts';
import { drain } from '../stack/functions.ts';
import { historiesOf } from '../stack/histories.ts';
import { subscribe } from '../stack/subscriber.ts';
import { tableOf } from '../steps/catching-up.ts';
import { deliver } from '../steps/delivery.ts';
import { filledIn, pageOf } from './page.ts';
import { openShell, type Shell } from './shell.ts';

const { partitionKey } = advertStatusTable;

interface Around {
  readonly env: Record<string, string>;
  readonly processes: Processes;
  readonly folder: string;
}

/** What is left when the stack is gone. */
export interface BackedUp {
  readonly shell: Shell;
  readonly restoredTable: string;
  readonly advert: string;
  readonly generation: number;
}

/** Follows a block of a page of docs/operate. */
async function follow(
  shell: Shell,
  page: string,
  name: string,
  values: Readonly<Record<string, string>> = {},
): Promise<void> {
  const { blocks } = pageOf(await readFile(join(repository, 'docs/operate', page), 'utf8'));
  const block = blocks.find((each) => each.name === name);
  assert.ok(block, `${page} has a block ${name}`);
  await shell.run(filledIn(block, values), [0]);
}

const mainAccount = async ({ advertBridge }: Pick<Deployment, 'advertBridge'>) => {
  const account = (await advertBridge.status()).partnerAccounts.find(({ name }) => name === 'main');
  assert.ok(account, 'main is known');
  return account;
};

/** A copy of the feed-state table that is older than what is published: an event and a refresh come after it. */
export function backUpSteps(deployment: Deployment, { env, processes, folder }: Around): Promise<BackedUp> {
  const { steps, say, outputs, sandbox } = deployment;
  return steps.need('the feed-state table is restored under another name, as backup.md says', async () => {
    const aws = await pythonEnvironment(awsCommandLine, join(repository, '.venv', 'awscli'), processes, say);
    const shell = await openShell(folder, env, processes, aws);
    const advert = sandbox.control.truth('main')[6]?.id ?? '';
    const restoredTable = 'restored-feed-state';
    const { generation } = await mainAccount(deployment);
    await follow(shell, 'backup.md', 'restore-table', {
      TABLE: outputs.feedStateTableName,
      RESTORED: restoredTable,
    });
    sandbox.control.expireAccessTokens('main');
    sandbox.control.setStatus(advert, 'moderated');
    await deliver(deployment, 1);
    return { shell, restoredTable, advert, generation };
  });
}

/** After a destroy: a new stack with the restored table and the one that was kept, and then without a single row of that. */
export async function restoreSteps(before: Deployment, backedUp: BackedUp): Promise<void> {
  const { steps, cdk, cloud, sandbox, advertBridge } = before;
  const { shell, restoredTable, advert, generation } = backedUp;
  const { control, application } = sandbox;
  const { advertStatusTableName } = before.outputs;
  const settings = {
    ...before.settings,
    feedStateTable: restoredTable,
    advertStatusTable: advertStatusTableName,
  };

  const after = await steps.need(
    'deployed again with these tables, the bridge knows its accounts',
    async () => {
      await follow(shell, 'deploy.md', 'delete-application');
      const outputs = await cdk.deploy(settings);
      assert.equal(outputs.feedStateTableName, restoredTable);
      assert.equal(outputs.advertStatusTableName, advertStatusTableName);
      const args = ['application', '--client-id', application.clientId, '--client-secret-stdin'];
      await advertBridge.run(args, `${application.clientSecret}\n`);
      assert.equal((await mainAccount(before)).generation, generation);
      const types = { team: 'returning', types: ['AdvertStatusChanged', 'AdvertUnavailable'] };
      const subscriber = await subscribe(cloud, outputs.eventBusName, types);
      return { ...before, outputs, subscriber };
    },
  );
  const seen = () => [...before.subscriber.received, ...after.subscriber.received];

  await steps.check(
    'it goes on from the older cursor: no event comes twice, the next has the next number',
    async () => {
      const length = historiesOf(seen()).get(advert)?.length ?? 0;
      await deliver(after, 0);
      control.setStatus(advert, 'active');
      await deliver(after, 1);
      assert.equal(historiesOf(seen()).get(advert)?.length, length + 1);
      assert.equal((await mainAccount(after)).generation, generation);
    },
  );

  await steps.check(
    'without its histories it begins a new generation, and a subscriber that compares is right',
    async () => {
      const TableName = advertStatusTableName;
      const since = new Date(Date.now() - 60_000).toISOString();
      await advertBridge.run(
        ['connect', 'main', '--new-user', '--since', since, '--refresh-token-stdin'],
        control.issueRefreshToken('main'),
        [0, 3],
      );
      for await (const { Items = [] } of paginateScan({ client: cloud.dynamo }, { TableName })) {
        for (const { [partitionKey]: key } of Items) {
          await cloud.dynamo.send(
            new DeleteItemCommand({ TableName, Key: { [partitionKey]: key ?? { S: '' } } }),
          );
        }
      }
      assert.ok((await mainAccount(after)).generation > generation);
      await advertBridge.run(['backfill', 'main'], undefined, [0, 3]);
      await drain(cloud, after.outputs.drainFunctionName);
      const truth = control.truth('main').filter(({ status }) => status !== null);
      const inNew = (event: object) =>
        (event as { detail: { metadata: { generation: number } } }).detail.metadata.generation > generation;
      await after.subscriber.readUntil(
        (received) => received.filter(inNew).length >= truth.length,
        onItsWayMs,
      );
      assert.ok(
        after.subscriber.received.filter(inNew).length >= truth.length,
        'events of the new generation',
      );
      const held = tableOf(seen());
      for (const { id, status } of truth) assert.equal(held[id], status, `what a subscriber holds of ${id}`);
    },
  );

  await steps.check('cdk destroy leaves the tables that it was given', async () => {
    await cdk.destroy(settings);
    for (const TableName of [restoredTable, advertStatusTableName]) {
      const pages = paginateScan({ client: cloud.dynamo }, { TableName, Limit: 1 });
      assert.ok((await pages.next()).value?.Items?.length, `${TableName} has its items`);
    }
  });
}
