import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DescribeTableCommand, paginateScan } from '@aws-sdk/client-dynamodb';
import { repository } from '../emulator/cloud.ts';
import type { Deployment } from '../stack/deployment.ts';
import { filledIn, pageOf } from './page.ts';
import { type Around, shellOf } from './run.ts';

const restoredTable = 'restored-feed-state';

/**
 * A table is restored under another name, by the commands of docs/operate/backup.md. That the stack takes it in is in
 * test/infra/state.test.ts, that the bridge goes on with an older one in test/unit/functions/restored-tables.test.ts.
 */
export async function restoreSteps(deployment: Deployment, around: Around): Promise<void> {
  const { steps, cloud, outputs } = deployment;
  await steps.check('a table is restored under another name, as backup.md says', async () => {
    const page = pageOf(await readFile(join(repository, 'docs/operate/backup.md'), 'utf8'));
    const block = page.blocks.find(({ name }) => name === 'restore-table');
    assert.ok(block);
    const values = { TABLE: outputs.feedStateTableName, RESTORED: restoredTable };
    await (await shellOf(deployment, around)).run(filledIn(block, values), [0]);
    const { Table } = await cloud.dynamo.send(new DescribeTableCommand({ TableName: restoredTable }));
    assert.equal(Table?.DeletionProtectionEnabled, true);
    const rowsOf = async (TableName: string) => {
      const rows: object[] = [];
      for await (const { Items = [] } of paginateScan({ client: cloud.dynamo }, { TableName }))
        rows.push(...Items);
      return rows.length;
    };
    const rows = await rowsOf(restoredTable);
    assert.ok(rows > 0 && rows <= (await rowsOf(outputs.feedStateTableName)), `${rows} rows`);
  });
}
