import * as v from 'valibot';
import { checkedJson, type Flaw, flawsOf, ShapeError } from '../contract/checks.ts';
import {
  type FunctionConfig,
  type FunctionName,
  functionResources,
  resourceKeys,
  settingsKey,
} from '../contract/environment.ts';
import { eventSource } from '../contract/names.ts';
import { functionSettings } from '../contract/settings.ts';

/** The value of `service` in metrics and log lines; read before the settings are checked, whose faults are logged. */
export const serviceName = (environment: NodeJS.ProcessEnv = process.env): string =>
  environment[resourceKeys.namePrefix] || eventSource;

/**
 * The settings of a function and the names of its resources. No other code reads the environment.
 *
 * @throws {ShapeError} with all missing or invalid environment variables
 */
export function functionConfig<N extends FunctionName>(
  name: N,
  environment: NodeJS.ProcessEnv = process.env,
): Readonly<FunctionConfig<N>> {
  const given = Object.entries(resourceKeys).map(([resource, key]) => [resource, environment[key]]);
  const resources = v.safeParse(functionResources[name], Object.fromEntries(given));
  const flaws: Flaw[] = flawsOf(resources.issues ?? []).map(({ path, expected }) => ({
    path: resourceKeys[path as keyof typeof resourceKeys],
    expected,
  }));
  try {
    const settings = checkedJson(functionSettings, environment[settingsKey] ?? '', settingsKey);
    if (resources.success) return { ...settings, ...(resources.output as object) } as FunctionConfig<N>;
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    for (const { path, expected } of error.flaws) {
      flaws.push({ path: path ? `${settingsKey}.${path}` : settingsKey, expected });
    }
  }
  throw new ShapeError(`environment of ${name}`, flaws);
}
