import { paginateListStackResources } from '@aws-sdk/client-cloudformation';
import { DescribeEventBusCommand } from '@aws-sdk/client-eventbridge';
import { describeCustomBus } from '../../../shared/aws/custom-event-bus.ts';
import { namePrefixOf, secretNamesOf } from '../../../shared/contract/names.ts';
import { type Bridge, once } from '../bridge.ts';
import { allPages, type StackClients, unlessMissing } from '../stack-clients.ts';
import type { StackOutputs } from '../stack-outputs.ts';
import { alarmOfBridge, readAlarms, secretsOf } from '../stack-state.ts';
import { bridgeFacts, type ExaminedPlace } from './bridge-checks.ts';

interface ExaminedStack extends ExaminedPlace {
  readonly stack: string;
  /** Of the command. */
  readonly version: string;
  readonly clients: StackClients;
}

export type StackFacts = ReturnType<typeof stackFacts>;

export function stackFacts(bridge: Bridge & { readonly outputs: StackOutputs }, place: ExaminedStack) {
  const { outputs } = bridge;
  const { clients, stack: StackName } = place;
  const secretNames = secretNamesOf(namePrefixOf(outputs.bridgeName));
  const resources = once(() =>
    allPages(
      paginateListStackResources({ client: clients.cloudFormation }, { StackName }),
      ({ StackResourceSummaries }) => StackResourceSummaries,
    ),
  );
  /** The bridge's own tables, queues, alarms or bus. A user's stack may contain more. */
  const resourcesOf = async (type: string) =>
    (await resources()).filter(
      ({ ResourceType, PhysicalResourceId: id = '' }) =>
        ResourceType === type &&
        (Object.values(outputs).includes(id) || alarmOfBridge(id, outputs.bridgeName) !== undefined),
    );
  return {
    ...bridgeFacts(bridge, place),
    outputs,
    secretNames,
    resourcesOf,
    /** As AWS describes them; undefined if one was deleted, or the bridge does not publish on it. */
    buses: once(async () => {
      const { eventBusName: Name, customEventBusArn: arn } = outputs;
      const classic = Name && unlessMissing(clients.events.send(new DescribeEventBusCommand({ Name })));
      const custom = arn && unlessMissing(describeCustomBus(clients.customBus, arn));
      return { classic: (await classic) || undefined, custom: (await custom) || undefined };
    }),
    /** Those that the stack made, by name; undefined if one was deleted. */
    alarms: once(async () => {
      const made = await resourcesOf('AWS::CloudWatch::Alarm');
      const found = new Map(
        (await readAlarms({ clients, outputs })).map((alarm) => [alarm.AlarmName, alarm]),
      );
      return made.map(({ PhysicalResourceId: name = '' }) => ({ name, alarm: found.get(name) }));
    }),
    /** By partner account name, including those that are scheduled for deletion. */
    tokenSecrets: once(async () => {
      const { partnerAccountPrefix: prefix } = secretNames;
      const own = (await secretsOf({ clients, outputs })).filter(({ Name = '' }) => Name.startsWith(prefix));
      return new Map(own.map((secret) => [secret.Name?.slice(prefix.length) ?? '', secret]));
    }),
  };
}
