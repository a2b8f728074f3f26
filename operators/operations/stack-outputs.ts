import {
  type CloudFormationClient,
  DescribeStacksCommand,
  paginateDescribeStacks,
  type Stack,
} from '@aws-sdk/client-cloudformation';
import { outputs } from '../../shared/contract/names.ts';
import { type CommandError, failed } from './errors.ts';
import { allPages } from './stack-clients.ts';

type OutputKey = keyof typeof outputs;
/** By `eventBuses`, a bridge has the ones of the classic bus, the one of the Custom Event Bus, or all. */
const ofBuses = ['eventBusName', 'eventBusArn', 'customEventBusArn'] as const;
type OfBuses = (typeof ofBuses)[number];
export type StackOutputs = Readonly<
  Record<Exclude<OutputKey, OfBuses>, string> & Partial<Record<OfBuses, string>>
>;

/**
 * @param place in the format of `--stack`: STACK or STACK/BRIDGE
 * @throws {CommandError} when there is no such stack or bridge, or when there are several and none is named
 */
export async function readStackOutputs(client: CloudFormationClient, place: string): Promise<StackOutputs> {
  const [stack = '', bridge] = place.split('/');
  const { Stacks } = await client.send(new DescribeStacksCommand({ StackName: stack })).catch((cause) => {
    // CloudFormation reports a missing stack only in the text of the message.
    if (cause instanceof Error && cause.name === 'ValidationError' && /not exist/.test(cause.message))
      return { Stacks: [] };
    throw cause;
  });
  const found = Stacks?.[0];
  if (!found) throw await missingStack(stack, client);
  const all = bridgesIn(found);
  const [one, ...others] = bridge === undefined ? all : all.filter((each) => each.bridgeName === bridge);
  if (one && others.length === 0) return one;
  if (all.length > 0) throw failed('several-bridges', { stack, bridges: bridgeNamesIn(found).join(', ') });
  throw failed('no-bridge', { stack, status: found.StackStatus });
}

/** In a stack with more than one bridge, outputs begin with the bridge's construct path (infra/advert-bridge.ts). */
function bridgesIn({ Outputs = [] }: Stack): StackOutputs[] {
  const values = new Map(Outputs.map(({ OutputKey, OutputValue }) => [OutputKey, OutputValue]));
  return [...values.keys()].flatMap((key = '') => {
    if (!key.endsWith(outputs.bridgeName)) return [];
    const place = key.slice(0, -outputs.bridgeName.length);
    const named = Object.entries(outputs).map(([each, name]) => [each, values.get(`${place}${name}`)]);
    const isWhole = named.every(([each, value]) => value || ofBuses.some((optional) => optional === each));
    return isWhole ? [Object.fromEntries(named) as StackOutputs] : [];
  });
}

/** What `--stack` takes for each bridge of a stack. */
const bridgeNamesIn = (stack: Stack): string[] =>
  bridgesIn(stack).map(({ bridgeName }, _, { length }) =>
    length > 1 ? `${stack.StackName}/${bridgeName}` : `${stack.StackName}`,
  );

async function missingStack(stack: string, client: CloudFormationClient): Promise<CommandError> {
  // Whoever may not list stacks is told the rest.
  const stacks = await allPages(paginateDescribeStacks({ client }, {}), ({ Stacks }) => Stacks).catch(
    () => [],
  );
  const bridges = stacks.flatMap(bridgeNamesIn).join(', ');
  return failed('no-stack', { stack, region: await client.config.region(), bridges });
}
