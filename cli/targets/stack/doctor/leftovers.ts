import type { StackResourceSummary } from '@aws-sdk/client-cloudformation';
import { paginateListTables } from '@aws-sdk/client-dynamodb';
import { paginateListQueues } from '@aws-sdk/client-sqs';
import { allPages } from '../../../../operations/ask.ts';
import { check, type Finding, together, warning } from '../../../../operations/doctor.ts';
import { commandFor, type StackTarget } from '../../../shared/target.ts';
import type { Facts } from './facts.ts';
import { partnerSecrets } from './secrets.ts';

/**
 * Tables, queues and secrets remain when a stack is deleted (`cdk destroy` keeps them), and a new stack with the same
 * name creates new ones.
 */
export const leftoversCheck = ({ target, bridge, resources }: Facts) =>
  check('leftovers', async () => {
    const opened = await bridge();
    const { clients, partnerAccounts } = opened;
    const [ownTables, ownQueues, tables, queues, accounts, secrets] = await Promise.all([
      resources('AWS::DynamoDB::Table'),
      resources('AWS::SQS::Queue'),
      allPages(paginateListTables({ client: clients.dynamoDb }, {}), ({ TableNames }) => TableNames),
      allPages(
        paginateListQueues(
          { client: clients.sqs },
          { QueueNamePrefix: `${target.stack}-`, MaxResults: 1000 },
        ),
        ({ QueueUrls }) => QueueUrls,
      ),
      partnerAccounts.list(() => undefined),
      partnerSecrets(opened),
    ]);
    const known = new Set(accounts.map(({ name }) => name));
    const unknown = [...secrets].filter(([name, { DeletedDate }]) => !known.has(name) && !DeletedDate);
    return together('nothing is left of an earlier stack', [
      ...left(target.stack, ownTables, tables).map(tableLeft),
      ...left(target.stack, ownQueues, queues).map(queueLeft),
      ...unknown.map(([name, { Name }]) => secretLeft(target, name, Name ?? name)),
    ]);
  });

/**
 * Names that CloudFormation generates: stack name, logical ID and a random part. Another stack's name may have the same
 * prefix.
 */
function left(stack: string, own: readonly StackResourceSummary[], places: readonly string[]): string[] {
  const names = own.map(({ PhysicalResourceId = '' }) => nameOf(PhysicalResourceId));
  const madeLike = own.map(({ LogicalResourceId }) => `${stack}-${LogicalResourceId}-`);
  return places.filter(
    (place) => !names.includes(nameOf(place)) && madeLike.some((start) => nameOf(place).startsWith(start)),
  );
}

/** The physical ID of a queue is its URL. */
const nameOf = (place: string): string => place.split('/').at(-1) ?? place;

const tableLeft = (name: string): Finding =>
  warning(
    `table ${name} is of an earlier stack`,
    `If nothing of it is needed: \`aws dynamodb update-table --table-name ${name} --no-deletion-protection-enabled\`, ` +
      `then \`aws dynamodb delete-table --table-name ${name}\``,
  );
const queueLeft = (url: string): Finding =>
  warning(
    `queue ${url} is of an earlier stack, and may hold messages`,
    `If nothing of it is needed: \`aws sqs delete-queue --queue-url ${url}\``,
  );
const secretLeft = (target: StackTarget, account: string, secret: string): Finding =>
  warning(
    `secret ${secret} is of no partner account that the stack knows`,
    `\`${commandFor(target, `connect ${account}`)}\` takes it over; if nobody needs it: \`aws secretsmanager delete-secret --secret-id ${secret}\``,
  );
