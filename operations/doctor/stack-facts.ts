/** What the checks of a stack read: the first check that needs something requests it. All requests to AWS only read. */
import {
  CloudFormationClient,
  paginateListStackResources,
  type StackResourceSummary,
} from '@aws-sdk/client-cloudformation';
import { CloudWatchClient, DescribeAlarmsCommand, type MetricAlarm } from '@aws-sdk/client-cloudwatch';
import { SchedulerClient } from '@aws-sdk/client-scheduler';
import { paginateListSecrets, type SecretListEntry } from '@aws-sdk/client-secrets-manager';
import { SNSClient } from '@aws-sdk/client-sns';
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
import {
  dynamoDbClient,
  eventBridgeClient,
  lambdaClient,
  secretsManagerClient,
  sqsClient,
} from '../../shared/aws/clients.ts';
import { alarmOfBridge, namePrefixOf, secretNamesOf } from '../../shared/contract/names.ts';
import { type PartnerAccount, stopOf } from '../../shared/domain/partner-account.ts';
import { allPages, once } from '../ask.ts';
import type { Bridge } from '../bridge.ts';
import type { StackOutputs } from '../stack-outputs.ts';
import type { BridgeFacts } from './bridge-checks.ts';

export type StackBridge = Bridge & { readonly outputs: StackOutputs };

interface StackPlace {
  /** Name of the CloudFormation stack. */
  readonly stack: string;
  /** Of this command. */
  readonly version: string;
  /** Fails as opening does, for the check of the stack itself. */
  readonly opened: () => Promise<StackBridge>;
}

export type StackFacts = BridgeFacts<StackBridge> & StackPlace & ReturnType<typeof readsOf>;

const defaults = {
  maxAttempts: 3,
  requestHandler: { connectionTimeout: 3_000, requestTimeout: 8_000, throwOnRequestTimeout: true },
};

const newClients = () => ({
  cloudFormation: new CloudFormationClient(defaults),
  cloudWatch: new CloudWatchClient(defaults),
  dynamoDb: dynamoDbClient(),
  events: eventBridgeClient(),
  lambda: lambdaClient(),
  scheduler: new SchedulerClient(defaults),
  secrets: secretsManagerClient(),
  sns: new SNSClient(defaults),
  sqs: sqsClient(),
  sts: new STSClient(defaults),
});

export function stackFacts(
  facts: BridgeFacts<StackBridge> & StackPlace,
  onClose: (close: () => void) => void,
): StackFacts {
  const clients = newClients();
  onClose(() => {
    for (const client of Object.values(clients)) client.destroy();
  });
  return { ...facts, ...readsOf(facts, clients) };
}

/** Maximum number of alarms in one request. */
const alarmsAtOnce = 100;

function readsOf(
  { bridge, stack: StackName }: BridgeFacts<StackBridge> & StackPlace,
  clients: ReturnType<typeof newClients>,
) {
  const listed = once(async () => {
    const { outputs } = await bridge();
    const pages = paginateListStackResources({ client: clients.cloudFormation }, { StackName });
    const all = await allPages(pages, ({ StackResourceSummaries }) => StackResourceSummaries);
    const { feedStateTableName, advertStatusTableName, queueUrl, deadLetterQueueUrl, eventBusName } = outputs;
    const own: readonly (string | undefined)[] = [
      ...[feedStateTableName, advertStatusTableName, queueUrl, deadLetterQueueUrl, eventBusName],
    ];
    // A user's stack may contain more than the bridge.
    return all.filter(
      ({ PhysicalResourceId: id = '' }) =>
        own.includes(id) || alarmOfBridge(id, outputs.bridgeName) !== undefined,
    );
  });
  /** The bridge's own tables, queues, alarms or bus. */
  const resources = async (type: string): Promise<readonly StackResourceSummary[]> =>
    (await listed()).filter(({ ResourceType }) => ResourceType === type);

  return {
    clients,
    resources,
    identity: once(() => clients.sts.send(new GetCallerIdentityCommand({}))),
    /** Alarms that the stack has, each with what CloudWatch knows of it. */
    alarms: once(async (): Promise<readonly { name: string; alarm: MetricAlarm | undefined }[]> => {
      const names = (await resources('AWS::CloudWatch::Alarm')).map((each) => each.PhysicalResourceId ?? '');
      if (names.length === 0) return [];
      const asked = new DescribeAlarmsCommand({ AlarmNames: names.slice(0, alarmsAtOnce) });
      const { MetricAlarms = [] } = await clients.cloudWatch.send(asked);
      return names.map((name) => ({ name, alarm: MetricAlarms.find((each) => each.AlarmName === name) }));
    }),
    /** Partner accounts that are not stopped, and the names of all. */
    accounts: once(async (): Promise<{ polled: PartnerAccount[]; names: string[] }> => {
      const all = await (await bridge()).partnerAccounts.list(() => undefined);
      return { polled: all.filter((account) => !stopOf(account)), names: all.map(({ name }) => name) };
    }),
    applicationSecret: async () =>
      secretNamesOf(namePrefixOf((await bridge()).outputs.bridgeName)).application,
    /** Secrets by partner account name, including those that are scheduled for deletion. */
    tokenSecrets: once(async (): Promise<ReadonlyMap<string, SecretListEntry>> => {
      const { bridgeName } = (await bridge()).outputs;
      const { partnerAccountPrefix: prefix } = secretNamesOf(namePrefixOf(bridgeName));
      const asked = { Filters: [{ Key: 'name' as const, Values: [prefix] }], IncludePlannedDeletion: true };
      const pages = paginateListSecrets({ client: clients.secrets }, asked);
      const found = await allPages(pages, ({ SecretList }) => SecretList);
      const own = found.filter(({ Name = '' }) => Name.startsWith(prefix));
      return new Map(own.map((secret) => [secret.Name?.slice(prefix.length) ?? '', secret]));
    }),
  };
}
