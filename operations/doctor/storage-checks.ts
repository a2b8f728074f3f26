/** Checks of what a stack keeps: tables, secrets, and what an earlier stack left behind. */
import type { StackResourceSummary } from '@aws-sdk/client-cloudformation';
import { DescribeContinuousBackupsCommand, paginateListTables } from '@aws-sdk/client-dynamodb';
import {
  DescribeSecretCommand,
  paginateListSecrets,
  ResourceNotFoundException,
  type SecretListEntry,
} from '@aws-sdk/client-secrets-manager';
import { paginateListQueues } from '@aws-sdk/client-sqs';
import { namePrefixOf, secretNamesOf } from '../../shared/contract/names.ts';
import { type PartnerAccount, stopOf } from '../../shared/domain/partner-account.ts';
import { once } from '../bridge.ts';
import { applicationWords, connectWords } from '../errors.ts';
import { allPages } from '../stack-clients.ts';
import { readTables } from '../stack-state.ts';
import { type Checks, fault, judged, type Problem, SkippedError, warning } from './check.ts';
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
        const { ContinuousBackupsDescription } = await clients.dynamoDb.send(asked).catch((error: Error) => {
          if (error.name === 'TableNotFoundException')
            throw new SkippedError('needs both tables: see tables');
          throw error;
        });
        const { PointInTimeRecoveryStatus } =
          ContinuousBackupsDescription?.PointInTimeRecoveryDescription ?? {};
        const enable =
          `\`aws dynamodb update-continuous-backups --table-name ${TableName} --point-in-time-recovery-specification ` +
          'PointInTimeRecoveryEnabled=true`';
        return (
          PointInTimeRecoveryStatus !== 'ENABLED' &&
          warning(`table ${TableName} cannot be restored to a moment`, enable)
        );
      });
      return judged('both can be restored to any second', ...(await Promise.all(problems)));
    },
    // Only the functions may read the values. So the connect function checks whether the service accepts them.
    async 'application-secret'() {
      const { application: name } = await prefixes();
      const store = `\`${command(applicationWords('stack'))}\``;
      const fine = `secret ${name} has a value`;
      try {
        const asked = new DescribeSecretCommand({ SecretId: name });
        const { DeletedDate, VersionIdsToStages = {} } = await clients.secrets.send(asked);
        if (DeletedDate) return judged(fine, fault(`secret ${name} is about to be deleted`, restore(name)));
        const isEmpty = !Object.values(VersionIdsToStages).flat().includes(currentStage);
        return judged(fine, isEmpty && fault(`secret ${name} is empty`, store));
      } catch (error) {
        if (!(error instanceof ResourceNotFoundException)) throw error;
        const make = `Make it: \`aws secretsmanager create-secret --name ${name}\`, then ${store}`;
        return judged(fine, fault(`secret ${name} is gone`, make));
      }
    },
    async 'token-secrets'() {
      const [all, secrets] = await Promise.all([accounts(), tokenSecrets()]);
      const polled = all.filter((account) => !stopOf(account));
      const problems = polled.map((account) =>
        tokenProblem(account, secrets.get(account.name), `\`${command(connectWords(account.name))}\``),
      );
      return judged(`token pairs found: ${polled.length}, none is missing`, ...problems);
    },
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

function tokenProblem(
  { name, token }: PartnerAccount,
  secret: SecretListEntry | undefined,
  connect: string,
): Problem | false {
  if (!secret) return fault(`${name} has no secret with its token pair`, connect);
  if (secret.DeletedDate)
    return fault(`the secret of ${name} is about to be deleted`, restore(secret.Name ?? name));
  const stages = Object.entries(secret.SecretVersionsToStages ?? {});
  const [current] = stages.find(([, names]) => names.includes(currentStage)) ?? [];
  if (current === undefined) return fault(`the secret of ${name} is empty`, connect);
  if (token === undefined || token.version === current) return false;
  return warning(
    `the secret of ${name} has another token pair than its row names`,
    `refresh-token takes it in within 15 minutes; if this stays: ${connect}`,
  );
}

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
