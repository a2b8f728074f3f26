import { paginateListStackResources, type StackResourceSummary } from '@aws-sdk/client-cloudformation';
import { alarmOfBridge } from '../../shared/contract/names.ts';
import { type Bridge, once } from '../bridge.ts';
import { allPages, type StackClients } from '../stack-clients.ts';
import type { StackOutputs } from '../stack-outputs.ts';
import type { StackPlaces } from '../stack-state.ts';
import type { BridgeFacts } from './bridge-checks.ts';

export interface NamedStack extends BridgeFacts {
  readonly bridge: () => Promise<Bridge & { readonly outputs: StackOutputs }>;
  readonly stack: string;
  readonly version: string;
  /** Fails as opening does, for the check of the stack itself. */
  readonly opened: () => Promise<unknown>;
  readonly clients: StackClients;
}

export interface StackFacts extends NamedStack {
  readonly places: () => Promise<StackPlaces>;
  /** The bridge's own tables, queues, alarms or bus. A user's stack may contain more. */
  readonly resources: (type: string) => Promise<readonly StackResourceSummary[]>;
}

export function stackFacts(named: NamedStack): StackFacts {
  const { bridge, clients, stack: StackName } = named;
  const places = async () => {
    const { outputs } = await bridge();
    return { bridge: outputs.bridgeName, outputs, clients };
  };
  const own = once(async () => {
    const { outputs } = await places();
    const { feedStateTableName, advertStatusTableName, queueUrl, deadLetterQueueUrl, eventBusName } = outputs;
    const ids = [feedStateTableName, advertStatusTableName, queueUrl, deadLetterQueueUrl, eventBusName];
    const pages = paginateListStackResources({ client: clients.cloudFormation }, { StackName });
    const all = await allPages(pages, ({ StackResourceSummaries }) => StackResourceSummaries);
    return all.filter(
      ({ PhysicalResourceId: id = '' }) =>
        ids.includes(id) || alarmOfBridge(id, outputs.bridgeName) !== undefined,
    );
  });
  return {
    ...named,
    places,
    resources: async (type) => (await own()).filter(({ ResourceType }) => ResourceType === type),
  };
}
