import * as v from 'valibot';
import { flawsOf, ShapeError } from '../../shared/contract/checks.ts';
import {
  type FunctionConfig,
  type FunctionName,
  functionResources,
  resourceKeys,
  settingsKey,
} from '../../shared/contract/environment.ts';
import { eventSource } from '../../shared/contract/names.ts';
import { functionSettings } from '../../shared/contract/settings.ts';

/** The value of `service` in metrics and log lines; read before the settings are checked, whose faults are logged. */
export const serviceName = (environment: NodeJS.ProcessEnv = process.env): string =>
  environment[resourceKeys.namePrefix] || eventSource;

const settingsText = v.pipe(v.string(), v.parseJson(undefined, 'expected JSON'), functionSettings);

/**
 * The settings of a function and the names of its resources. No other code reads the environment.
 *
 * @throws {ShapeError} with all missing or invalid environment variables
 */
export function functionConfig<N extends FunctionName>(
  name: N,
  { [settingsKey]: settings = '', ...environment }: NodeJS.ProcessEnv = process.env,
): Readonly<FunctionConfig<N>> {
  const given = Object.entries(resourceKeys).map(([resource, key]) => [resource, environment[key]]);
  const schema = v.object({ settings: settingsText, resources: functionResources[name] });
  const read = v.safeParse(schema, { settings, resources: Object.fromEntries(given) });
  if (read.success) return { ...read.output.settings, ...read.output.resources } as FunctionConfig<N>;
  const flaws = flawsOf(read.issues).map(({ path, expected }) => {
    const [, resource] = path.split('resources.') as [string, keyof typeof resourceKeys | undefined];
    return { path: resource ? resourceKeys[resource] : path.replace('settings', settingsKey), expected };
  });
  throw new ShapeError(`environment of ${name}`, flaws);
}
