/** The command lines of the checks (`npm run chaos`, `simulate`, `test:deploy`). */
import { Command, InvalidArgumentError, Option } from 'commander';

/** Ends the process with 2 for wrong options. @param exitCodes the meaning of 0 and 1 */
export const checkCommand = (name: string, description: string, exitCodes: string): Command =>
  new Command(`npm run ${name} --`)
    .description(description)
    .addHelpText('after', `\nExit codes: ${exitCodes}, 2 usage.`)
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2));

/** Reads a whole number from `least` to `most` (2³² − 1). */
export const wholeNumber =
  (least = 0, most = 2 ** 32 - 1) =>
  (text: string): number => {
    const value = Number(text);
    if (/^\d{1,10}$/.test(text) && value >= least && value <= most) return value;
    throw new InvalidArgumentError(`Expected a whole number, ${least} to ${most}.`);
  };

/** Reads names out of `known`, separated by commas. */
export const namesOf =
  <T extends string>(known: readonly T[]) =>
  (text: string): readonly T[] => {
    const names = text.split(',');
    const found = known.filter((name) => names.includes(name));
    if (found.length === names.length) return found;
    throw new InvalidArgumentError(`Expected some of ${known.join(', ')}.`);
  };

/** Without it, the seed is one that no run is likely to have had. */
export const seedOption = (description: string): Option =>
  new Option('--seed <seed>', description)
    .argParser(wholeNumber())
    .default(Math.floor(Math.random() * 2 ** 31), 'fresh');
