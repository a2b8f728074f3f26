/** Checks of what a stack keeps: tables, secrets, and what an earlier stack left behind. */
import type { StackResourceSummary } from '@aws-sdk/client-cloudformation';
import { DescribeContinuousBackupsCommand, paginateListTables } from '@aws-sdk/client-dynamodb';
import {
  DescribeSecretCommand,
  paginateListSecrets,
  type SecretListEntry,
} from '@aws-sdk/client-secrets-manager';
import { paginateListQueues } from '@aws-sdk/client-sqs';
import { namePrefixOf, secretNamesOf } from '../../shared/contract/names.ts';
import { once } from '../bridge.ts';
import { applicationWords } from '../errors.ts';
import { allPages, unlessMissing } from '../stack-clients.ts';
import { readTables } from '../stack-state.ts';
import { tokenPairs } from './bridge-checks.ts';
import { type Checks, fault, judged, SkippedError, warning } from './check.ts';
import type { StackFacts } from './stack-facts.ts';

const currentStage = 'AWSCURRENT';
const restore = (name: string) => `\`aws secretsmanager restore-secret --secret-id ${name}\``;

export const storageChecks = (facts: StackFacts): Checks => {
  const { bridge, places, clients, resources, stack, command } = facts;
  const prefixes = async () => secretNamesOf(namePrefixOf((await places()).bridge));
  const accounts = once(async () => (await bridge()).partnerAccounts.list(() => undefined));
  /** Secrets by partner account name, including those that are scheduled for deletion. */
  const tokenSecrets = once(async (): Promise<ReadonlyMap<string, SecretListEntry>> => {
    const { partnerAccountPrefix: prefix } = await prefixes();
    const asked = { Filters: [{ Key: 'name' as const, Values: [prefix] }], IncludePlannedDeletion: true };
    const pages = paginateListSecrets({ client: clients.secrets }, asked);
    const found = await allPages(pages, ({ SecretList }) => SecretList);
    const own = found.filter(({ Name = '' }) => Name.startsWith(prefix));
    return new Map(own.map((secret) => [secret.Name?.slice(prefix.length) ?? '', secret]));
  });

  return {
    async tables() {
      const problems = (await readTables(await places())).flatMap(({ name, isProtected, faults }) => {
        if (faults.length > 0) return faults.map(({ says, mend }) => fault(says, `Restore it: ${mend}`));
        const protect = `\`aws dynamodb update-table --table-name ${name} --deletion-protection-enabled\``;
        return [!isProtected && warning(`table ${name} may be deleted by hand`, protect)];
      });
      return judged('both are active and protected against deletion', ...problems);
    },
    async 'table-recovery'() {
      const { feedStateTableName, advertStatusTableName } = (await places()).outputs;
      const problems = [feedStateTableName, advertStatusTableName].map(async (TableName) => {
        const asked = new DescribeContinuousBackupsCommand({ TableName });
        const found = await unlessMissing(clients.dynamoDb.send(asked));
        if (!found) throw new SkippedError('needs both tables: see tables');
        const recovery = found.ContinuousBackupsDescription?.PointInTimeRecoveryDescription;
        const enable =
          `\`aws dynamodb update-continuous-backups --table-name ${TableName} --point-in-time-recovery-specification ` +
          'PointInTimeRecoveryEnabled=true`';
        return (
          recovery?.PointInTimeRecoveryStatus !== 'ENABLED' &&
          warning(`table ${TableName} cannot be restored to a moment`, enable)
        );
      });
      return judged('both can be restored to any second', ...(await Promise.all(problems)));
    },
    // Only the functions may read the values. So the connect function checks whether the service accepts them.
    async 'application-secret'() {
      const { application: name } = await prefixes();
      const store = `\`${command(applicationWords('stack'))}\``;
      const make = `Make it: \`aws secretsmanager create-secret --name ${name}\`, then ${store}`;
      const found = await unlessMissing(clients.secrets.send(new DescribeSecretCommand({ SecretId: name })));
      const isEmpty = !Object.values(found?.VersionIdsToStages ?? {})
        .flat()
        .includes(currentStage);
      return judged(
        `secret ${name} has a value`,
        !found
          ? fault(`secret ${name} is gone`, make)
          : found.DeletedDate
            ? fault(`secret ${name} is about to be deleted`, restore(name))
            : isEmpty && fault(`secret ${name} is empty`, store),
      );
    },
    'token-secrets': tokenPairs(facts, 'refresh-token takes it in within 15 minutes', async (name) => {
      const {
        Name = name,
        DeletedDate,
        SecretVersionsToStages = {},
      } = (await tokenSecrets()).get(name) ?? {};
      if (DeletedDate) return fault(`the secret of ${name} is about to be deleted`, restore(Name));
      const stages = Object.entries(SecretVersionsToStages);
      const [version] = stages.find(([, names]) => names.includes(currentStage)) ?? [];
      return version === undefined ? undefined : { version };
    }),
    // `cdk destroy` keeps tables, queues and secrets, and a new stack with the same name creates new ones.
    async leftovers() {
      const queuesOf = { QueueNamePrefix: `${stack}-`, MaxResults: 1000 };
      const [ownTables, ownQueues, tables, queues, known, secrets] = await Promise.all([
        resources('AWS::DynamoDB::Table'),
        resources('AWS::SQS::Queue'),
        allPages(paginateListTables({ client: clients.dynamoDb }, {}), ({ TableNames }) => TableNames),
        allPages(paginateListQueues({ client: clients.sqs }, queuesOf), ({ QueueUrls }) => QueueUrls),
        accounts(),
        tokenSecrets(),
      ]);
      const unneeded = 'If nothing of it is needed: ';
      return judged(
        'nothing is left of an earlier stack',
        ...leftOf(stack, ownTables, tables).map((name) => {
          const unprotect = `\`aws dynamodb update-table --table-name ${name} --no-deletion-protection-enabled\``;
          const remove = `${unprotect}, then \`aws dynamodb delete-table --table-name ${name}\``;
          return warning(`table ${name} is of an earlier stack`, unneeded + remove);
        }),
        ...leftOf(stack, ownQueues, queues).map((url) => {
          const remove = `\`aws sqs delete-queue --queue-url ${url}\``;
          return warning(`queue ${url} is of an earlier stack, and may hold messages`, unneeded + remove);
        }),
        ...[...secrets].map(([account, { Name, DeletedDate }]) => {
          if (DeletedDate || known.some(({ name }) => name === account)) return false;
          const take = `\`${command(`connect ${account}`)}\` takes it over`;
          const remove = `\`aws secretsmanager delete-secret --secret-id ${Name}\``;
          const says = `secret ${Name} is of no partner account that the stack knows`;
          return warning(says, `${take}; if nobody needs it: ${remove}`);
        }),
      );
    },
  };
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
