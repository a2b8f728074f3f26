/** Checks of what a stack keeps: tables, secrets, and what an earlier stack left behind. */
import type { StackResourceSummary } from '@aws-sdk/client-cloudformation';
import { DescribeContinuousBackupsCommand, paginateListTables } from '@aws-sdk/client-dynamodb';
import { DescribeSecretCommand } from '@aws-sdk/client-secrets-manager';
import { paginateListQueues } from '@aws-sdk/client-sqs';
import { resourceFinding } from '../findings/findings.ts';
import { allPages, unlessMissing } from '../stack-clients.ts';
import { readTables } from '../stack-state.ts';
import { pairCheck, problemOf } from './bridge-checks.ts';
import { type Checks, SkippedError } from './check.ts';
import type { StackFacts } from './stack-facts.ts';

const currentStage = 'AWSCURRENT';

export const storageChecks: Checks<StackFacts> = {
  async tables(facts, report) {
    for (const { name, isProtected, faults } of await readTables(facts)) {
      for (const fault of faults) report(problemOf(resourceFinding(fault, facts)));
      if (faults.length === 0 && !isProtected) report('unprotected', { name });
    }
  },
  async 'table-recovery'({ outputs, clients: { dynamoDb } }, report) {
    for (const TableName of [outputs.feedStateTableName, outputs.advertStatusTableName]) {
      const found = await unlessMissing(dynamoDb.send(new DescribeContinuousBackupsCommand({ TableName })));
      if (!found) throw new SkippedError('needs-tables');
      const recovery = found.ContinuousBackupsDescription?.PointInTimeRecoveryDescription;
      if (recovery?.PointInTimeRecoveryStatus !== 'ENABLED') report('off', { name: TableName });
    }
  },
  // Only the functions may read the values. So the connect function checks whether the service accepts them.
  async 'application-secret'({ secretNames: { application: name }, clients: { secrets } }, report) {
    const found = await unlessMissing(secrets.send(new DescribeSecretCommand({ SecretId: name })));
    const stages = Object.values(found?.VersionIdsToStages ?? {}).flat();
    if (!found) report('gone', { name });
    else if (found.DeletedDate) report('deleted-soon', { name });
    else if (!stages.includes(currentStage)) report('empty', { name });
    return { name };
  },
  'token-secrets': pairCheck(async (name, { tokenSecrets }) => {
    const secret = (await tokenSecrets()).get(name);
    if (secret?.DeletedDate) return ['deleted-soon', { secret: secret.Name }];
    const versions = Object.entries(secret?.SecretVersionsToStages ?? {});
    return versions.find(([, stages]) => stages.includes(currentStage))?.[0];
  }),
  // `cdk destroy` keeps tables, queues and secrets, and a new stack with the same name creates new ones.
  async leftovers({ resourcesOf, accounts, tokenSecrets, clients, stack }, report) {
    const queuesOf = { QueueNamePrefix: `${stack}-`, MaxResults: 1000 };
    const [ownTables, ownQueues, tables, queues, known, secrets] = await Promise.all([
      resourcesOf('AWS::DynamoDB::Table'),
      resourcesOf('AWS::SQS::Queue'),
      allPages(paginateListTables({ client: clients.dynamoDb }, {}), ({ TableNames }) => TableNames),
      allPages(paginateListQueues({ client: clients.sqs }, queuesOf), ({ QueueUrls }) => QueueUrls),
      accounts(),
      tokenSecrets(),
    ]);
    for (const name of leftOf(stack, ownTables, tables)) report('table', { name });
    for (const url of leftOf(stack, ownQueues, queues)) report('queue', { url });
    for (const [name, { Name: secret, DeletedDate }] of secrets) {
      const isKnown = known.some((account) => account.name === name);
      if (!DeletedDate && !isKnown) report('secret', { name, secret });
    }
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
