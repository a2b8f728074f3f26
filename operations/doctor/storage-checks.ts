/** Checks of what a stack keeps: tables, secrets, and what an earlier stack left behind. */
import type { StackResourceSummary } from '@aws-sdk/client-cloudformation';
import {
  DescribeContinuousBackupsCommand,
  DescribeTableCommand,
  paginateListTables,
} from '@aws-sdk/client-dynamodb';
import {
  DescribeSecretCommand,
  ResourceNotFoundException,
  type SecretListEntry,
} from '@aws-sdk/client-secrets-manager';
import { paginateListQueues } from '@aws-sdk/client-sqs';
import type { PartnerAccount } from '../../shared/domain/partner-account.ts';
import { allPages } from '../ask.ts';
import { applicationWords, connectWords } from '../errors.ts';
import { type Checks, fault, judged, type Problem, warning } from './check.ts';
import type { StackFacts } from './stack-facts.ts';

const currentStage = 'AWSCURRENT';
const restore = (name: string) => `\`aws secretsmanager restore-secret --secret-id ${name}\``;

export const storageChecks: Checks<StackFacts> = {
  async tables({ bridge, clients }) {
    const problems = await ofTables(bridge, async (TableName) => {
      const { Table } = await clients.dynamoDb.send(new DescribeTableCommand({ TableName }));
      const status = Table?.TableStatus;
      if (status !== 'ACTIVE' && status !== 'UPDATING') {
        const mend = 'Wait until it is ACTIVE; if it was deleted: docs/operate/backup.md';
        return fault(`table ${TableName} is ${status}`, mend);
      }
      const protect = `\`aws dynamodb update-table --table-name ${TableName} --deletion-protection-enabled\``;
      return (
        !Table?.DeletionProtectionEnabled && warning(`table ${TableName} may be deleted by hand`, protect)
      );
    });
    return judged('both are active and protected against deletion', ...problems);
  },
  async 'table-recovery'({ bridge, clients }) {
    const problems = await ofTables(bridge, async (TableName) => {
      const asked = new DescribeContinuousBackupsCommand({ TableName });
      const { ContinuousBackupsDescription } = await clients.dynamoDb.send(asked);
      const { PointInTimeRecoveryStatus } =
        ContinuousBackupsDescription?.PointInTimeRecoveryDescription ?? {};
      return (
        PointInTimeRecoveryStatus !== 'ENABLED' &&
        warning(
          `table ${TableName} cannot be restored to a moment`,
          `\`aws dynamodb update-continuous-backups --table-name ${TableName} --point-in-time-recovery-specification ` +
            'PointInTimeRecoveryEnabled=true`',
        )
      );
    });
    return judged('both can be restored to any second', ...problems);
  },
  // Only the functions may read the values. So the connect function checks whether the service accepts them.
  async 'application-secret'({ applicationSecret, clients, command }) {
    const name = await applicationSecret();
    const store = `\`${command(applicationWords('stack'))}\``;
    const fine = `secret ${name} has a value`;
    try {
      const asked = new DescribeSecretCommand({ SecretId: name });
      const { DeletedDate, VersionIdsToStages = {} } = await clients.secrets.send(asked);
      const isEmpty = !Object.values(VersionIdsToStages).flat().includes(currentStage);
      const problem = DeletedDate
        ? fault(`secret ${name} is about to be deleted`, restore(name))
        : isEmpty && fault(`secret ${name} is empty`, store);
      return judged(fine, problem);
    } catch (error) {
      if (!(error instanceof ResourceNotFoundException)) throw error;
      const make = `Make it: \`aws secretsmanager create-secret --name ${name}\`, then ${store}`;
      return judged(fine, fault(`secret ${name} is gone`, make));
    }
  },
  async 'token-secrets'({ accounts, tokenSecrets, command }) {
    const [{ polled }, secrets] = await Promise.all([accounts(), tokenSecrets()]);
    const problems = polled.map((account) =>
      tokenProblem(account, secrets.get(account.name), `\`${command(connectWords(account.name))}\``),
    );
    return judged(`token pairs found: ${polled.length}, none is missing`, ...problems);
  },
  /**
   * Tables, queues and secrets remain when a stack is deleted (`cdk destroy` keeps them), and a new stack with the same
   * name creates new ones.
   */
  async leftovers({ stack, clients, resources, accounts, tokenSecrets, command }) {
    const queuesOf = { QueueNamePrefix: `${stack}-`, MaxResults: 1000 };
    const [ownTables, ownQueues, tables, queues, { names }, secrets] = await Promise.all([
      resources('AWS::DynamoDB::Table'),
      resources('AWS::SQS::Queue'),
      allPages(paginateListTables({ client: clients.dynamoDb }, {}), ({ TableNames }) => TableNames),
      allPages(paginateListQueues({ client: clients.sqs }, queuesOf), ({ QueueUrls }) => QueueUrls),
      accounts(),
      tokenSecrets(),
    ]);
    const unknown = [...secrets].filter(([name, { DeletedDate }]) => !names.includes(name) && !DeletedDate);
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
      ...unknown.map(([account, { Name }]) => {
        const take = `\`${command(`connect ${account}`)}\` takes it over`;
        const remove = `\`aws secretsmanager delete-secret --secret-id ${Name}\``;
        const says = `secret ${Name} is of no partner account that the stack knows`;
        return warning(says, `${take}; if nobody needs it: ${remove}`);
      }),
    );
  },
};

async function ofTables(
  bridge: StackFacts['bridge'],
  look: (tableName: string) => Promise<Problem | false>,
): Promise<(Problem | false)[]> {
  const { feedStateTableName, advertStatusTableName } = (await bridge()).outputs;
  const looks = [feedStateTableName, advertStatusTableName].map((name) =>
    look(name).catch((error: Error) => {
      if (!/^(ResourceNotFound|TableNotFound)Exception$/.test(error.name)) throw error;
      return fault(`table ${name} is gone`, 'Restore it: docs/operate/backup.md');
    }),
  );
  return Promise.all(looks);
}

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

/**
 * Names that CloudFormation generates: stack name, logical ID and a random part. Another stack's name may have the same
 * prefix.
 */
function leftOf(stack: string, own: readonly StackResourceSummary[], found: readonly string[]): string[] {
  const names = own.map(({ PhysicalResourceId = '' }) => nameOf(PhysicalResourceId));
  const generated = own.map(({ LogicalResourceId }) => `${stack}-${LogicalResourceId}-`);
  return found.filter(
    (id) => !names.includes(nameOf(id)) && generated.some((start) => nameOf(id).startsWith(start)),
  );
}

/** The physical ID of a queue is its URL. */
const nameOf = (id: string): string => id.split('/').at(-1) ?? id;
