/** Parses the options of the checks' command lines (`npm run chaos`, `simulate`, `test:deploy`). */
import { type ParseArgsConfig, parseArgs } from 'node:util';

export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** The options of this process. Ends it when it was asked for help, or called wrongly. */
export function optionsOrExit<T extends { readonly isHelp: boolean }>(
  optionsOf: (args: readonly string[]) => T,
  usage: string,
): T {
  try {
    const options = optionsOf(process.argv.slice(2));
    if (!options.isHelp) return options;
    process.stdout.write(usage);
    return process.exit(0);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`${error.message}\n\n${usage}`);
    return process.exit(2);
  }
}

/** @throws {UsageError} for an option that is not known, or that lacks its value */
export function valuesOf<const T extends NonNullable<ParseArgsConfig['options']>>(
  args: readonly string[],
  options: T,
) {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (cause) {
    throw new UsageError((cause as Error).message, { cause });
  }
}

/** @throws {UsageError} unless it is a whole number from `least` (0) to `most` (2³² − 1) */
export function wholeNumber(
  name: string,
  text: string | undefined,
  { least = 0, most = 2 ** 32 - 1 } = {},
): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (/^\d{1,10}$/.test(text) && value >= least && value <= most) return value;
  throw new UsageError(`--${name}: expected a whole number, ${least} to ${most}`);
}

/** The parts that `--only` names, separated by commas; all of them without it. @throws {UsageError} for any other */
export function partsOf<T extends string>(parts: readonly T[], text: string | undefined): readonly T[] {
  if (text === undefined) return parts;
  const names = text.split(',');
  const unknown = names.find((name) => !parts.some((part) => part === name));
  if (unknown !== undefined) throw new UsageError(`--only: expected some of ${parts.join(', ')}`);
  return parts.filter((part) => names.includes(part));
}

/** A seed that no run is likely to have had. */
export const freshSeed = (): number => Math.floor(Math.random() * 2 ** 31);
