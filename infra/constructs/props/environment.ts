import {
  type EnvironmentName,
  environmentKeys,
  type FunctionName,
  functionEnvironments,
} from '../../../shared/contract/environment.ts';

/**
 * Lambda's limit for the environment variables of one function, as JSON.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
 */
const maxBytes = 4_096;
/** For the names of tables, queues, bus and functions, and the policy of secrets, whose lengths are not known at synth. */
const resourceBytes = 1_400;

type Settings = Partial<Record<EnvironmentName, unknown>>;

/** The values of those settings that the function's contract lists. */
export function environmentOf(name: FunctionName, settings: Settings): Record<string, string> {
  return Object.fromEntries(
    givenOf(name, settings).map((key) => [environmentKeys[key], String(settings[key])]),
  );
}

const givenOf = (name: FunctionName, settings: Settings): EnvironmentName[] =>
  (Object.keys(functionEnvironments[name].entries) as EnvironmentName[]).filter(
    (key) => settings[key] !== undefined,
  );

/**
 * The longest setting of the first function whose environment has no room for its settings, with what was expected;
 * undefined if all have. CloudFormation would report it only after other resources were created.
 */
export function environmentFault(settings: Settings): [setting: string, expected: string] | undefined {
  const most = maxBytes - resourceBytes;
  for (const name of Object.keys(functionEnvironments) as FunctionName[]) {
    const bytes = Buffer.byteLength(JSON.stringify(environmentOf(name, settings)));
    if (bytes <= most) continue;
    const length = (key: EnvironmentName) => Buffer.byteLength(String(settings[key]));
    const longest = givenOf(name, settings).sort((one, other) => length(other) - length(one))[0] ?? name;
    const expected = `expected less text: the settings of a function may have ${most} bytes in its environment, not ${bytes}`;
    return [longest, expected];
  }
  return undefined;
}
