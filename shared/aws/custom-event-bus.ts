/**
 * The Custom Event Bus of EventBridge. AWS's own client for it is not on the npm registry yet, so this file describes its
 * calls to the parts of the SDK: the client of EventBridge (credentials, signature, retries, proxies) with the protocol
 * of the other service. docs/decisions/0028-custom-event-bus.md says why, and what replaces this file.
 */
import { createHash } from 'node:crypto';
import { EventBridgeClient, type EventBridgeClientConfig } from '@aws-sdk/client-eventbridge';
import { partition } from '@aws-sdk/core/client';
import { AwsSmithyRpcV2CborProtocol } from '@aws-sdk/core/protocols';
import { makeBuilder } from '@smithy/core/client';
import { getEndpointPlugin } from '@smithy/core/endpoints';
import type { EndpointParameters, EndpointV2, MetadataBearer, StaticOperationSchema } from '@smithy/types';
import type { EventBus } from './event-publisher.ts';

interface PutEventsEntry {
  readonly Source: string;
  readonly DetailType: string;
  readonly Detail: string;
  readonly Resources: readonly string[];
  readonly Time: Date;
  readonly SystemMetadata: { readonly EventGroupId: string; readonly DeduplicationId: string };
}

interface PutEventsInput {
  readonly EventBusArn: string;
  readonly Entries: readonly PutEventsEntry[];
}

interface PutEventsOutput extends MetadataBearer {
  readonly Entries?: readonly { readonly EventId?: string; readonly ErrorCode?: string }[];
}

/** A call takes 100 entries and 1 MB, and an event has at most 15 KB. */
const entriesAtOnce = 50;
/** Characters of a group, and of a deduplication ID. */
const longestId = 128;

// The model in the SDK's notation: the kind of shape (1 a list, 3 a structure, 9 an operation), its namespace, its name, its
// traits, then members and their types (0 text, 1 a number, 2 true or false, 4 a time, 64 a list of what is added to it).
const model = 'com.amazonaws.eventsv2';
const metadata = [3, model, 'SystemMetadata', 0, ['EventGroupId', 'DeduplicationId'], [0, 0]];
const entry = [
  ...[3, model, 'PutEventsRequestEntry', 0],
  ['Source', 'DetailType', 'Detail', 'Resources', 'Time', 'SystemMetadata'],
  [0, 0, 0, 64 | 0, 4, () => metadata],
];
const entries = [1, model, 'PutEventsRequestEntryList', 0, () => entry];
const request = [3, model, 'PutEventsRequest', 0, ['EventBusArn', 'Entries'], [0, () => entries]];
const result = [3, model, 'PutEventsResultEntry', 0, ['EventId', 'ErrorCode'], [0, 0]];
const results = [1, model, 'PutEventsResultEntryList', 0, () => result];
const response = [3, model, 'PutEventsResponse', 0, ['Entries'], [() => results]];

const endpointParameters = {
  UseFIPS: { type: 'builtInParams', name: 'useFipsEndpoint' },
  Endpoint: { type: 'builtInParams', name: 'endpoint' },
  Region: { type: 'builtInParams', name: 'region' },
  UseDualStack: { type: 'builtInParams', name: 'useDualstackEndpoint' },
} as const;

/** The class of a command. */
function commandOf<Input extends object, Output extends MetadataBearer>(
  name: string,
  input: unknown,
  output: unknown,
) {
  const make = makeBuilder<EventBridgeClient['config'], Input, Output>(
    endpointParameters,
    'AWSEventsV2',
    'EventBridgeV2Client',
    getEndpointPlugin,
  );
  const schema = [9, model, name, 0, () => input, () => output] as unknown as StaticOperationSchema;
  return make<Input, Output>({}, () => [], name, schema);
}

const PutEventsCommand = commandOf<PutEventsInput, PutEventsOutput>('PutEvents', request, response);

interface ListSubscribersOutput extends MetadataBearer {
  readonly Subscribers?: readonly Subscriber[];
  readonly NextToken?: string;
}

/** A subscriber as its bus shows it; it may be of another AWS account. */
export interface Subscriber {
  readonly Name?: string;
  readonly SubscriberArn?: string;
  readonly State?: 'RUNNING' | 'STOPPED';
  /** True if the owner of the bus has stopped the subscriber for ever; otherwise absent. */
  readonly Revoked?: boolean;
}

const listRequest = [3, model, 'ListSubscribersRequest', 0, ['EventBusArn', 'NextToken'], [0, 0]];
const subscriber = [
  ...[3, model, 'SubscriberSummary', 0],
  ['Name', 'SubscriberArn', 'State', 'Revoked'],
  [0, 0, 0, 2],
];
const subscribers = [1, model, 'SubscriberSummaryList', 0, () => subscriber];
const listResponse = [
  ...[3, model, 'ListSubscribersResponse', 0],
  ['Subscribers', 'NextToken'],
  [() => subscribers, 0],
];
const ListSubscribersCommand = commandOf<
  { readonly EventBusArn: string; readonly NextToken?: string },
  ListSubscribersOutput
>('ListSubscribers', listRequest, listResponse);

/** An operation that takes the ARN of a bus, and answers with texts. */
const aboutBus = <Output extends object>(name: string, arn: string, members: readonly (keyof Output)[]) =>
  commandOf<Readonly<Record<string, string>>, MetadataBearer & Output>(
    name,
    [3, model, `${name}Request`, 0, [arn], [0]],
    [3, model, `${name}Response`, 0, members, members.map(() => 0)],
  );
const DescribeEventBusCommand = aboutBus<{ readonly State?: string }>('DescribeEventBus', 'EventBusArn', [
  'State',
]);
const GetResourcePolicyCommand = aboutBus<{ readonly PolicyDocument?: string }>(
  'GetResourcePolicy',
  'ResourceArn',
  ['PolicyDocument'],
);

export const describeCustomBus = (client: CustomEventBusClient, arn: string) =>
  client.send(new DescribeEventBusCommand({ EventBusArn: arn }));

/** The policy of the bus, without what AWS Resource Access Manager shares. */
export const policyOfCustomBus = (client: CustomEventBusClient, arn: string) =>
  client.send(new GetResourcePolicyCommand({ ResourceArn: arn }));

/** All subscribers on a bus. Only its owner may ask for them. */
export async function listSubscribers(client: CustomEventBusClient, arn: string): Promise<Subscriber[]> {
  const all: Subscriber[] = [];
  let token: string | undefined;
  do {
    const asked = new ListSubscribersCommand({
      EventBusArn: arn,
      ...(token !== undefined && { NextToken: token }),
    });
    const { Subscribers = [], NextToken } = await client.send(asked);
    all.push(...Subscribers);
    token = NextToken;
  } while (token !== undefined);
  return all;
}

/** The regional endpoint, which also serves buses of other accounts; AWS_ENDPOINT_URL_EVENTBRIDGEV2 replaces it. */
function endpointOf({ Endpoint, Region, UseFIPS, UseDualStack }: EndpointParameters): EndpointV2 {
  if (Endpoint) return { url: new URL(`${Endpoint}`) };
  const { dnsSuffix, dualStackDnsSuffix } = partition(`${Region}`);
  const host = `eventsv2${UseFIPS ? '-fips' : ''}.${Region}.${UseDualStack ? dualStackDnsSuffix : dnsSuffix}`;
  return { url: new URL(`https://${host}`) };
}

export interface CustomEventBusClient {
  send(command: InstanceType<typeof PutEventsCommand>): Promise<PutEventsOutput>;
  send(command: InstanceType<typeof ListSubscribersCommand>): Promise<ListSubscribersOutput>;
  send(command: InstanceType<typeof DescribeEventBusCommand>): Promise<{ readonly State?: string }>;
  send(command: InstanceType<typeof GetResourcePolicyCommand>): Promise<{ readonly PolicyDocument?: string }>;
}

/** @param config such as region and credentials; default: by the environment, as for every client of the SDK */
export const customEventBusClient = (config: EventBridgeClientConfig): CustomEventBusClient =>
  new EventBridgeClient({
    ...config,
    serviceId: 'EventBridgeV2',
    endpointProvider: endpointOf,
    protocol: AwsSmithyRpcV2CborProtocol,
    protocolSettings: { defaultNamespace: model, errorTypeRegistries: [] },
  } as EventBridgeClientConfig) as unknown as CustomEventBusClient;

/** Keeps the order of the events of one advert, and drops an event that is repeated within five minutes. */
export const customEventBus = (client: CustomEventBusClient, arn: string): EventBus<PutEventsEntry> => ({
  entriesAtOnce,
  entryOf(envelope) {
    const { source, 'detail-type': detailType, time, resources, detail } = JSON.parse(envelope);
    const { bridge = '', eventId } = detail.metadata;
    return {
      Source: source,
      DetailType: detailType,
      Time: new Date(time),
      Resources: resources,
      Detail: JSON.stringify(detail),
      SystemMetadata: { EventGroupId: idOf(`${bridge}/${resources[0]}`), DeduplicationId: idOf(eventId) },
    };
  },
  async put(batch) {
    const { Entries = [] } = await client.send(new PutEventsCommand({ EventBusArn: arn, Entries: batch }));
    return Entries;
  },
});

/** The same for the same text, and of a length that the bus accepts. */
const idOf = (text: string): string =>
  text.length <= longestId ? text : createHash('sha256').update(text).digest('hex');
