import { resourceKeys, settingsKey } from '../../../shared/contract/environment.ts';
import { type FunctionSettings, functionSettings } from '../../../shared/contract/settings.ts';

/**
 * Lambda's limit for the environment variables of one function, as JSON.
 *
 * @see https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
 */
const maxBytes = 4_096;
/** For the names of tables, queues, bus and functions, and the policy of secrets, whose lengths are not known at synth. */
const resourceBytes = 1_400;

type Config = FunctionSettings & { readonly namePrefix: string };

const names = Object.keys(functionSettings.entries) as (keyof typeof functionSettings.entries)[];

/** What every function has in its environment. */
export const environmentOf = (config: Config): Record<string, string> => ({
  [settingsKey]: JSON.stringify(Object.fromEntries(names.map((name) => [name, config[name]]))),
  [resourceKeys.namePrefix]: config.namePrefix,
});

/**
 * The longest setting if the environment of a function has no room for all of them, with what was expected.
 * CloudFormation would report it only after other resources were created.
 */
export function environmentFaults(config: Config): [setting: string, expected: string][] {
  const most = maxBytes - resourceBytes;
  const bytes = Buffer.byteLength(JSON.stringify(environmentOf(config)));
  if (bytes <= most) return [];
  const length = (name: (typeof names)[number]) => JSON.stringify(config[name] ?? '').length;
  const [longest = ''] = names.sort((one, other) => length(other) - length(one));
  const expected = `expected less text: the settings of a function may have ${most} bytes in its environment, not ${bytes}`;
  return [[longest, expected]];
}
