import {
  CloudFormationClient,
  DescribeStacksCommand,
  paginateDescribeStacks,
  type Stack,
} from '@aws-sdk/client-cloudformation';
import { outputs } from '../shared/contract/names.ts';
import { allPages } from './all-pages.ts';
import { CommandError } from './errors.ts';
import { type StackPlace, textOfPlace } from './stack-place.ts';

type OutputKey = keyof typeof outputs;
/** Outputs that were added after version 0.1.0: not every stack has them. */
const laterOutputs = ['bridgeName', 'partnerBaseUrl'] as const;
type LaterOutput = (typeof laterOutputs)[number];

export type StackOutputs = Readonly<
  Record<Exclude<OutputKey, LaterOutput>, string> & Record<LaterOutput, string | undefined>
>;

/**
 * The names of the bridge's resources, from the outputs of its stack. Outputs that not every stack has may be undefined.
 *
 * @throws {CommandError} when there is no such stack or bridge, or when there are several and none is named
 * @see https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStacks.html
 */
export async function readStackOutputs({ stack, bridge }: StackPlace): Promise<StackOutputs> {
  const client = cloudFormation();
  try {
    const { Stacks } = await client.send(new DescribeStacksCommand({ StackName: stack })).catch((cause) => {
      // CloudFormation reports a missing stack only in the text of the message.
      if (cause instanceof Error && cause.name === 'ValidationError' && /not exist/.test(cause.message)) {
        return { Stacks: [] };
      }
      throw cause;
    });
    const found = Stacks?.[0];
    if (!found) throw await missing(stack, client);
    const all = bridgesIn(found);
    const [one, ...others] = bridge === undefined ? all : all.filter((each) => each.bridgeName === bridge);
    const named = all.map(({ bridgeName }) => textOfPlace({ stack, bridge: bridgeName })).join(', ');
    if (others.length > 0) {
      throw new CommandError(`stack ${stack} has several bridges. Name one of them with --stack: ${named}`);
    }
    if (one) return one;
    if (all.length > 0) throw new CommandError(`stack ${stack} has no bridge ${bridge}, but ${named}`);
    throw new CommandError(
      `stack ${stack} (${found.StackStatus}) has no output ${lackingIn(outputsOf(found, '')).join(', ')}: it is no Advert ` +
        'Bridge, or its deployment has not ended. Deploy it with `npx cdk deploy`, or name another one with --stack',
    );
  } finally {
    client.destroy();
  }
}

/**
 * Every bridge of the AWS account and region by what `--stack` takes, found through the outputs of the stacks; undefined
 * if AWS does not show them.
 */
async function bridgesThere(client: CloudFormationClient): Promise<string[] | undefined> {
  try {
    const stacks = await allPages(paginateDescribeStacks({ client }, {}), ({ Stacks }) => Stacks);
    return stacks.flatMap((found) => {
      const { StackName: stack = '' } = found;
      const all = bridgesIn(found);
      return all.map(({ bridgeName }) =>
        textOfPlace({ stack, ...(all.length > 1 && { bridge: bridgeName }) }),
      );
    });
  } catch {
    return undefined;
  }
}

const cloudFormation = () =>
  new CloudFormationClient({
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 3_000, requestTimeout: 10_000, throwOnRequestTimeout: true },
  });

type GivenOutputs = Partial<Record<OutputKey, string>>;

/**
 * If the stack contains more than the bridge, its outputs begin with the bridge's construct path:
 * infra/advert-bridge.ts.
 */
function bridgesIn(stack: Stack): StackOutputs[] {
  const keys = (stack.Outputs ?? []).map(({ OutputKey = '' }) => OutputKey);
  // Older versions have no `bridgeName` output, and a dedicated stack's outputs have no prefix: so the empty prefix
  // is always tried.
  const places = keys
    .filter((key) => key.endsWith(outputs.bridgeName))
    .map((key) => key.slice(0, -outputs.bridgeName.length));
  return [...new Set(['', ...places])]
    .map((place) => outputsOf(stack, place))
    .filter((given): given is StackOutputs => lackingIn(given).length === 0);
}

function outputsOf(stack: Stack, place: string): GivenOutputs {
  const values = new Map(stack.Outputs?.map(({ OutputKey, OutputValue }) => [OutputKey, OutputValue]));
  return Object.fromEntries(
    Object.entries(outputs).map(([key, name]) => [key, values.get(`${place}${name}`)]),
  );
}

const lackingIn = (given: GivenOutputs): string[] =>
  (Object.keys(outputs) as OutputKey[]).flatMap((key) => (given[key] || isLater(key) ? [] : [outputs[key]]));

const isLater = (key: OutputKey): boolean => (laterOutputs as readonly string[]).includes(key);

async function missing(stack: string, client: CloudFormationClient): Promise<CommandError> {
  const region = await client.config.region();
  const bridges = await bridgesThere(client);
  const there =
    bridges?.length === 0 ? 'No bridge is deployed there' : `The bridges there: ${bridges?.join(', ')}`;
  return new CommandError(
    `there is no stack ${stack} in region ${region} of this AWS account. ${bridges ? `${there}. ` : ''}Deploy it with \`npx cdk deploy\`, ` +
      'name another one with --stack, choose another region with AWS_REGION, or give --local DIR for an embedded bridge',
  );
}
