/** Checks of what a stack keeps: tables, secrets, and what an earlier stack left behind. */
import type { StackResourceSummary } from '@aws-sdk/client-cloudformation';
import { DescribeContinuousBackupsCommand, paginateListTables } from '@aws-sdk/client-dynamodb';
import { DescribeSecretCommand } from '@aws-sdk/client-secrets-manager';
import { paginateListQueues } from '@aws-sdk/client-sqs';
import { applicationWords } from '../errors.ts';
import { allPages, unlessMissing } from '../stack-clients.ts';
import { readTables } from '../stack-state.ts';
import { pairCheck } from './bridge-checks.ts';
import { type Checks, fault, SkippedError, warning } from './check.ts';
import type { StackFacts } from './stack-facts.ts';

const currentStage = 'AWSCURRENT';
const restore = (name: string) => `\`aws secretsmanager restore-secret --secret-id ${name}\``;

export const storageChecks: Checks<StackFacts> = {
  async tables(facts, report) {
    for (const { name, isProtected, faults } of await readTables(facts)) {
      const protect = `\`aws dynamodb update-table --table-name ${name} --deletion-protection-enabled\``;
      for (const { says, mend } of faults) report(fault(says, `Restore it: ${mend}`));
      if (faults.length === 0 && !isProtected)
        report(warning(`table ${name} may be deleted by hand`, protect));
    }
    return 'both are active and protected against deletion';
  },
  async 'table-recovery'({ outputs, clients: { dynamoDb } }, report) {
    for (const TableName of [outputs.feedStateTableName, outputs.advertStatusTableName]) {
      const found = await unlessMissing(dynamoDb.send(new DescribeContinuousBackupsCommand({ TableName })));
      if (!found) throw new SkippedError('needs both tables: see tables');
      const recovery = found.ContinuousBackupsDescription?.PointInTimeRecoveryDescription;
      const enable =
        `\`aws dynamodb update-continuous-backups --table-name ${TableName} --point-in-time-recovery-specification ` +
        'PointInTimeRecoveryEnabled=true`';
      if (recovery?.PointInTimeRecoveryStatus !== 'ENABLED')
        report(warning(`table ${TableName} cannot be restored to a moment`, enable));
    }
    return 'both can be restored to any second';
  },
  // Only the functions may read the values. So the connect function checks whether the service accepts them.
  async 'application-secret'({ secretNames: { application: name }, clients: { secrets }, command }, report) {
    const store = `\`${command(applicationWords('stack'))}\``;
    const make = `Make it: \`aws secretsmanager create-secret --name ${name}\`, then ${store}`;
    const found = await unlessMissing(secrets.send(new DescribeSecretCommand({ SecretId: name })));
    const stages = Object.values(found?.VersionIdsToStages ?? {}).flat();
    if (!found) report(fault(`secret ${name} is gone`, make));
    else if (found.DeletedDate) report(fault(`secret ${name} is about to be deleted`, restore(name)));
    else if (!stages.includes(currentStage)) report(fault(`secret ${name} is empty`, store));
    return `secret ${name} has a value`;
  },
  'token-secrets': pairCheck(
    () => 'refresh-token takes it in within 15 minutes',
    async (name, { tokenSecrets }) => {
      const secret = (await tokenSecrets()).get(name);
      if (secret?.DeletedDate)
        return fault(`the secret of ${name} is about to be deleted`, restore(secret.Name ?? name));
      const versions = Object.entries(secret?.SecretVersionsToStages ?? {});
      return versions.find(([, stages]) => stages.includes(currentStage))?.[0];
    },
  ),
  // `cdk destroy` keeps tables, queues and secrets, and a new stack with the same name creates new ones.
  async leftovers({ resourcesOf, accounts, tokenSecrets, clients, stack, command }, report) {
    const queuesOf = { QueueNamePrefix: `${stack}-`, MaxResults: 1000 };
    const [ownTables, ownQueues, tables, queues, known, secrets] = await Promise.all([
      resourcesOf('AWS::DynamoDB::Table'),
      resourcesOf('AWS::SQS::Queue'),
      allPages(paginateListTables({ client: clients.dynamoDb }, {}), ({ TableNames }) => TableNames),
      allPages(paginateListQueues({ client: clients.sqs }, queuesOf), ({ QueueUrls }) => QueueUrls),
      accounts(),
      tokenSecrets(),
    ]);
    const unneeded = 'If nothing of it is needed: ';
    for (const name of leftOf(stack, ownTables, tables)) {
      const unprotect = `\`aws dynamodb update-table --table-name ${name} --no-deletion-protection-enabled\``;
      const remove = `${unprotect}, then \`aws dynamodb delete-table --table-name ${name}\``;
      report(warning(`table ${name} is of an earlier stack`, unneeded + remove));
    }
    for (const url of leftOf(stack, ownQueues, queues)) {
      const remove = `\`aws sqs delete-queue --queue-url ${url}\``;
      report(warning(`queue ${url} is of an earlier stack, and may hold messages`, unneeded + remove));
    }
    for (const [account, { Name, DeletedDate }] of secrets) {
      if (DeletedDate || known.some(({ name }) => name === account)) continue;
      const take = `\`${command(`connect ${account}`)}\` takes it over`;
      const remove = `\`aws secretsmanager delete-secret --secret-id ${Name}\``;
      const says = `secret ${Name} is of no partner account that the stack knows`;
      report(warning(says, `${take}; if nobody needs it: ${remove}`));
    }
    return 'nothing is left of an earlier stack';
  },
};

/** By the names that CloudFormation generates: another stack's name may have the same prefix. */
function leftOf(stack: string, own: readonly StackResourceSummary[], found: readonly string[]): string[] {
  const names = own.map(({ PhysicalResourceId = '' }) => nameOf(PhysicalResourceId));
  const generated = own.map(({ LogicalResourceId }) => `${stack}-${LogicalResourceId}-`);
  return found.filter(
    (id) => !names.includes(nameOf(id)) && generated.some((start) => nameOf(id).startsWith(start)),
  );
}

/** The physical ID of a queue is its URL. */
const nameOf = (id: string): string => id.split('/').at(-1) ?? id;
