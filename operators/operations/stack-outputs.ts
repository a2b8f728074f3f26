import {
  type CloudFormationClient,
  DescribeStacksCommand,
  paginateDescribeStacks,
  type Stack,
} from '@aws-sdk/client-cloudformation';
import { outputs } from '../../shared/contract/names.ts';
import { CommandError } from './errors.ts';
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
  if (all.length > 0)
    throw new CommandError(
      `stack ${stack} has the bridges ${bridgeNamesIn(found).join(', ')}: name one of them with --stack`,
    );
  throw new CommandError(
    `stack ${stack} (${found.StackStatus}) has not the outputs of a bridge: it is no Advert Bridge, or its deployment has not ended`,
    { mend: 'Deploy it with `npx cdk deploy`, or name another one with --stack' },
  );
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
  const there = bridges && `. The bridges there: ${bridges}`;
  const says = `there is no stack ${stack} in region ${await client.config.region()} of this AWS account${there}`;
  const mend =
    'Deploy it with `npx cdk deploy`, name another one with --stack, choose another region with AWS_REGION, or give ' +
    '--local DIR for an embedded bridge';
  return new CommandError(says, { mend });
}
