import * as v from 'valibot';
import { flawsOf, ShapeError } from '../contract/checks.ts';
import {
  environmentKeys,
  type FunctionEnvironment,
  type FunctionName,
  functionEnvironments,
} from '../contract/environment.ts';
import { eventSource } from '../contract/names.ts';

/** What the bridge's metrics and log lines carry as `service`. Known before the rest is checked: what is wrong there is logged. */
export const serviceName = (environment: NodeJS.ProcessEnv = process.env): string =>
  environment[environmentKeys.namePrefix] || eventSource;

/**
 * The settings of a function, read once from its environment. Nothing else reads it.
 *
 * @throws {ShapeError} naming every environment variable that is missing or wrong, all of them at once
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
