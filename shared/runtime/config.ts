import * as v from 'valibot';
import { flawsOf, ShapeError } from '../contract/checks.ts';
import {
  environmentKeys,
  type FunctionEnvironment,
  type FunctionName,
  functionEnvironments,
} from '../contract/environment.ts';
import { eventSource } from '../contract/names.ts';

/**
 * The value of `service` in the bridge's metrics and log lines. It is read before the other settings are checked,
 * because their faults are logged with it.
 */
export const serviceName = (environment: NodeJS.ProcessEnv = process.env): string =>
  environment[environmentKeys.namePrefix] || eventSource;

/**
 * Reads the settings of a function once from its environment. No other code reads the environment.
 *
 * @throws {ShapeError} with all missing or invalid environment variables
 */
export function functionConfig<N extends FunctionName>(
  name: N,
  environment: NodeJS.ProcessEnv = process.env,
): Readonly<FunctionEnvironment<N>> {
  const given = Object.fromEntries(
    Object.entries(environmentKeys).map(([setting, key]) => [setting, environment[key]]),
  );
  const result = v.safeParse(functionEnvironments[name], given);
  if (result.success) return result.output as FunctionEnvironment<N>;
  const flaws = flawsOf(result.issues).map(({ path, expected }) => ({
    path: environmentKeys[path as keyof typeof environmentKeys] ?? path,
    expected,
  }));
  throw new ShapeError(`environment of ${name}`, flaws);
}
