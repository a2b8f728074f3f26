import {
  DescribeContinuousBackupsCommand,
  DescribeTableCommand,
  ResourceNotFoundException,
} from '@aws-sdk/client-dynamodb';
import { check, type Finding, fault, ok, together, warning } from '../../../../operations/doctor.ts';
import type { Table } from '../../../../shared/aws/dynamodb/conditional-write.ts';
import type { Facts } from './facts.ts';

export function tableChecks({ bridge }: Facts) {
  const ofBoth = async (fine: string, find: (table: Table) => Promise<Finding>) => {
    const { feedStateTable, advertStatusTable } = await bridge();
    const tables = [feedStateTable, advertStatusTable];
    return together(fine, await Promise.all(tables.map((table) => find(table).catch(ifGone(table)))));
  };
  return [
    check('tables', () => ofBoth('both are active and protected against deletion', tableFinding)),
    check('table-recovery', () => ofBoth('both can be restored to any second', recoveryFinding)),
  ];
}

async function tableFinding({ client, name: TableName }: Table): Promise<Finding> {
  const { Table: found } = await client.send(new DescribeTableCommand({ TableName }));
  if (found?.TableStatus !== 'ACTIVE' && found?.TableStatus !== 'UPDATING') {
    return fault(
      `table ${TableName} is ${found?.TableStatus}`,
      'Wait until it is ACTIVE; if it was deleted: docs/operate/backup.md',
    );
  }
  if (found.DeletionProtectionEnabled) return ok(TableName);
  return warning(
    `table ${TableName} may be deleted by hand`,
    `\`aws dynamodb update-table --table-name ${TableName} --deletion-protection-enabled\``,
  );
}

async function recoveryFinding({ client, name: TableName }: Table): Promise<Finding> {
  const { ContinuousBackupsDescription } = await client.send(
    new DescribeContinuousBackupsCommand({ TableName }),
  );
  const { PointInTimeRecoveryStatus } = ContinuousBackupsDescription?.PointInTimeRecoveryDescription ?? {};
  if (PointInTimeRecoveryStatus === 'ENABLED') return ok(TableName);
  return warning(
    `table ${TableName} cannot be restored to a moment`,
    `\`aws dynamodb update-continuous-backups --table-name ${TableName} --point-in-time-recovery-specification ` +
      'PointInTimeRecoveryEnabled=true`',
  );
}

const ifGone =
  ({ name }: Table) =>
  (error: unknown): Finding => {
    const isGone =
      error instanceof ResourceNotFoundException || (error as Error).name === 'TableNotFoundException';
    if (!isGone) throw error;
    return fault(`table ${name} is gone`, 'Restore it: docs/operate/backup.md');
  };
