import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { outputs } from '../shared/contract/names.ts';
import { CommandError } from './errors.ts';

type OutputKey = keyof typeof outputs;
/** Outputs that came after the first version, or with a setting: not every stack has them. */
const laterOutputs = [
  'auditFunctionName',
  'catchUpRoleArn',
  'drainScheduleName',
  'refreshTokenScheduleName',
  'bridgeName',
  'partnerBaseUrl',
  'version',
  'doctor',
] as const;
type LaterOutput = (typeof laterOutputs)[number];

export type StackOutputs = Readonly<
  Record<Exclude<OutputKey, LaterOutput>, string> & Record<LaterOutput, string | undefined>
>;

/**
 * The names of the stack's resources, from its outputs. Those that only a later version's stack has may be undefined; a
 * command that needs one takes it with {@link neededOutput}.
 *
 * @throws {CommandError} when there is no such stack, or it is no Advert Bridge
 * @see https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_DescribeStacks.html
 */
export async function readStackOutputs(stack: string): Promise<StackOutputs> {
  const client = new CloudFormationClient({
    maxAttempts: 3,
    requestHandler: { connectionTimeout: 3_000, requestTimeout: 10_000, throwOnRequestTimeout: true },
  });
  try {
    const { Stacks } = await client.send(new DescribeStacksCommand({ StackName: stack })).catch((cause) => {
      // CloudFormation names a missing stack only in the message.
      if (cause instanceof Error && cause.name === 'ValidationError' && /not exist/.test(cause.message)) {
        return { Stacks: [] };
      }
      throw cause;
    });
    const found = Stacks?.[0];
    if (!found) throw await missing(stack, client);
    const given = new Map(found.Outputs?.map(({ OutputKey, OutputValue }) => [OutputKey, OutputValue]));
    const entries = Object.entries(outputs).map(
      ([key, output]) => [key as OutputKey, given.get(output)] as const,
    );
    const lacking = entries.flatMap(([key, value]) => (value || isLater(key) ? [] : [outputs[key]]));
    if (lacking.length > 0) {
      throw new CommandError(
        `stack ${stack} (${found.StackStatus}) has no output ${lacking.join(', ')}: it is no Advert Bridge, or its ` +
          'deployment has not ended. Deploy it with `npx cdk deploy`, or name another one with --stack',
      );
    }
    return Object.fromEntries(entries) as StackOutputs;
  } finally {
    client.destroy();
  }
}

const isLater = (key: OutputKey): boolean => (laterOutputs as readonly string[]).includes(key);

/** @throws {CommandError} when the stack was deployed by a version that did not have the output yet */
export function neededOutput(found: StackOutputs, key: LaterOutput): string {
  const value = found[key];
  if (value !== undefined) return value;
  throw new CommandError(
    `the stack has no output ${outputs[key]}: it was deployed by an earlier version of Advert Bridge. Deploy it again ` +
      'with `npx cdk deploy` and the settings that it has',
  );
}

async function missing(stack: string, client: CloudFormationClient): Promise<CommandError> {
  const region = await client.config.region();
  return new CommandError(
    `there is no stack ${stack} in region ${region} of this AWS account. Deploy it with \`npx cdk deploy\`, ` +
      'name another one with --stack, choose another region with AWS_REGION, or give --local DIR for an embedded bridge',
  );
}
