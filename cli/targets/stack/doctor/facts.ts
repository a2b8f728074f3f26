import {
  CloudFormationClient,
  paginateListStackResources,
  type StackResourceSummary,
} from '@aws-sdk/client-cloudformation';
import { CloudWatchClient } from '@aws-sdk/client-cloudwatch';
import { SchedulerClient } from '@aws-sdk/client-scheduler';
import { SNSClient } from '@aws-sdk/client-sns';
import { STSClient } from '@aws-sdk/client-sts';
import { allPages, once } from '../../../../operations/ask.ts';
import { SkippedError } from '../../../../operations/doctor.ts';
import { eventBridgeClient } from '../../../../shared/aws/clients.ts';
import { alarmOfBridge } from '../../../../shared/contract/names.ts';
import { openStack, type StackBridge } from '../../../bridge/open-stack.ts';
import type { Opening } from '../../../bridge/opening.ts';
import type { StackTarget } from '../../../shared/target.ts';

/** Facts that several checks of a stack need. The first check that needs a fact requests it. */
export interface Facts {
  readonly target: StackTarget;
  readonly clients: ReturnType<typeof newClients>;
  /** @throws {CommandError} like {@link openStack}, for the check of the stack itself */
  readonly opened: () => Promise<StackBridge>;
  /** @throws {SkippedError} if the stack cannot be used */
  readonly bridge: () => Promise<StackBridge>;
  /**
   * The bridge's resources of a CloudFormation type: tables, queues or alarms.
   *
   * @throws {SkippedError} if the stack cannot be used
   */
  readonly resources: (type: string) => Promise<readonly StackResourceSummary[]>;
}

const defaults = {
  maxAttempts: 3,
  requestHandler: { connectionTimeout: 3_000, requestTimeout: 8_000, throwOnRequestTimeout: true },
};

const newClients = () => ({
  cloudFormation: new CloudFormationClient(defaults),
  cloudWatch: new CloudWatchClient(defaults),
  events: eventBridgeClient(),
  scheduler: new SchedulerClient(defaults),
  sns: new SNSClient(defaults),
  sts: new STSClient(defaults),
});

export function readFacts(opening: Opening<StackTarget>): Facts {
  const { target, onClose } = opening;
  const clients = newClients();
  onClose(() => {
    for (const client of Object.values(clients)) client.destroy();
  });
  const opened = once(() => openStack(opening));

  const bridge = () =>
    opened().catch((cause: unknown) => {
      throw new SkippedError('needs the stack: see stack', { cause });
    });

  const listed = once(async () => {
    const { outputs, name } = await bridge();
    const pages = paginateListStackResources({ client: clients.cloudFormation }, { StackName: target.stack });
    const all = await allPages(pages, ({ StackResourceSummaries }) => StackResourceSummaries);
    // A user's stack may contain more than the bridge.
    const own: readonly (string | undefined)[] = [
      ...[outputs.feedStateTableName, outputs.advertStatusTableName],
      ...[outputs.queueUrl, outputs.deadLetterQueueUrl],
    ];
    return all.filter(
      ({ PhysicalResourceId: id = '' }) => own.includes(id) || alarmOfBridge(id, name) !== undefined,
    );
  });

  return {
    target,
    clients,
    opened,
    bridge,
    resources: async (type) => (await listed()).filter(({ ResourceType }) => ResourceType === type),
  };
}
