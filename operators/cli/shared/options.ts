/** The options of a command: spelling, help text and allowed values. */
import { type Command, Option } from 'commander';
import * as v from 'valibot';
import { flawsOf, partnerAccountName } from '../../../shared/contract/checks.ts';
import { fromText, type Setting, schemasOf } from '../../../shared/contract/settings.ts';
import { toInstant } from '../../../shared/domain/clock.ts';
import { UsageError } from '../../operations/errors.ts';

/** One option or argument. Its key in {@link OptionSpecs} is its name in camel case: `pageSize` is `--page-size`. */
export interface OptionSpec<S extends v.GenericSchema = v.GenericSchema> {
  /** Absent: the help of its command leaves the option out, and says where it is described. */
  readonly help?: string;
  /** A text as default is shown in the help; a list as default: the option may be given several times. */
  readonly schema: S;
  /** Placeholder for the value in the help, such as `N`; absent: the option has no value. */
  readonly value?: string;
  /** It is an argument instead: `<NAME>` if it is required, `[NAME]` if it is optional, `[ID...]` for several. */
  readonly argument?: string;
  /** The options that it excludes. */
  readonly conflicts?: readonly string[];
  /** Not for a stack, which has it as a setting or does not need it. */
  readonly localOnly?: boolean;
}

export type OptionSpecs = Readonly<Record<string, OptionSpec>>;
type Specs = Readonly<Record<string, Pick<OptionSpec, 'schema' | 'argument'>>>;
export type Checked<O extends Specs> = Readonly<
  v.InferOutput<v.ObjectSchema<{ readonly [K in keyof O]: O[K]['schema'] }, undefined>>
>;

export const flag = (help: string, ...conflicts: readonly string[]) => ({
  help,
  conflicts,
  schema: v.optional(v.boolean(), false),
});

export const option = <const S extends v.GenericSchema>(value: string, help: string, schema: S) => ({
  value,
  help,
  schema,
});

type Settings = Readonly<Record<string, Setting>>;
type SettingOptions<S extends Settings> = {
  readonly [K in keyof S]: OptionSpec<v.GenericSchema<unknown, v.InferOutput<S[K]['schema']> | undefined>>;
};

/** An option for each setting, without its default: one that was not given is undefined. */
export const settingOptions = <const S extends Settings>(settings: S): SettingOptions<S> =>
  Object.fromEntries(
    Object.entries(settings).map(([name, setting]): [string, OptionSpec] => {
      const parsed = v.transform((given) => fromText(setting, given));
      const schema = v.optional(v.pipe(v.unknown(), parsed, setting.schema));
      return [name, { schema, localOnly: true, ...(setting.type !== 'boolean' && { value: 'VALUE' }) }];
    }),
  ) as SettingOptions<S>;

export const text = (value: string, help: string) => option(value, help, v.optional(v.string()));

export const optionalNumber = (help: string, least: number, most: number) =>
  option('N', help, v.optional(numeral(least, most)));

export const number = (help: string, least: number, most: number, standard: number) =>
  option('N', help, v.optional(numeral(least, most), String(standard)));

export const nameArgument = { argument: '<NAME>', help: 'the partner account', schema: partnerAccountName };

export const optionalName = (help: string) => ({ argument: '[NAME]', help, schema: v.optional(v.string()) });

export function addOptions(command: Command, options: OptionSpecs): void {
  for (const [key, spec] of Object.entries(options)) {
    const { help = '', schema, value, argument, conflicts = [] } = spec;
    if (argument) {
      command.argument(argument, help);
      continue;
    }
    const { default: standard } = schema as { readonly default?: unknown };
    const added = new Option(
      value === undefined ? optionOf(key) : `${optionOf(key)} <${value}>`,
      typeof standard === 'string' ? `${help} (default: ${standard})` : help,
    )
      .hideHelp(help === '')
      .conflicts([...conflicts]);
    // Commander would store `--no-wait` as `wait: false`, under another key.
    added.negate = false;
    if (Array.isArray(standard)) added.argParser((one: string, others: string[] = []) => [...others, one]);
    command.addOption(added);
  }
}

/**
 * Checks all given values together, so that one attempt shows every fault.
 *
 * @throws {UsageError} with each wrong option and the expected value, but never the given value
 */
export function checkedOptions<const O extends Specs>(
  specs: O,
  given: Readonly<Record<string, unknown>>,
): Checked<O> {
  // A missing value is reported like a wrong one, with the expected value.
  const values = Object.fromEntries(Object.keys(specs).map((name) => [name, given[name]]));
  const result = v.safeParse(v.object(schemasOf(specs)), values);
  if (result.success) return result.output as Checked<O>;
  const all = flawsOf(result.issues).map(({ path, expected }) => {
    // The path of an option with several values ends with a number.
    const [name = ''] = path.split('.');
    return `${specs[name]?.argument?.replace(/[^A-Z]/g, '') ?? optionOf(name)}: ${expected}`;
  });
  const lines = [...new Set(all)];
  throw new UsageError(
    lines.length === 1 ? lines[0] : `${lines.length} options are wrong:\n  ${lines.join('\n  ')}`,
  );
}

/** `pollSeconds` as it is written on the command line: `--poll-seconds`. */
export const optionOf = (name: string): string =>
  `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

function numeral(least: number, most: number) {
  const expected = `expected a whole number from ${least} to ${most}`;
  return v.pipe(
    v.string(expected),
    v.regex(/^\d{1,15}$/, expected),
    v.transform(Number),
    v.minValue(least, expected),
    v.maxValue(most, expected),
  );
}

const expectedDuration =
  'expected a number of seconds, minutes, hours or days, at most a year, such as 90s, 30m, 2h or 3d';
const unitMs: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export const durationOption = v.pipe(
  v.string(expectedDuration),
  v.regex(/^[1-9]\d{0,7}[smhd]$/, expectedDuration),
  v.transform((text) => Number(text.slice(0, -1)) * (unitMs[text.slice(-1)] as number)),
  v.maxValue(365 * 86_400_000, expectedDuration),
);

const expectedMoment =
  'expected how long ago, such as 2h, or a time with its zone, such as 2026-11-20T13:00:00+01:00';

/** How long ago, or a time with its zone, converted to UTC. A time that is already in UTC stays unchanged. */
export const momentOption = v.pipe(
  v.string(expectedMoment),
  v.transform((text) => {
    const ago = v.safeParse(durationOption, text);
    return ago.success ? toInstant(Date.now() - ago.output) : text;
  }),
  v.isoTimestamp(expectedMoment),
  v.check((text) => {
    const day = text.slice(0, 10);
    // `Date` reads 30 February as 2 March.
    return !Number.isNaN(Date.parse(text)) && new Date(day).toJSON().startsWith(day);
  }, expectedMoment),
  v.transform((text) => (text.endsWith('Z') ? text.replace(' ', 'T') : new Date(text).toISOString())),
);

export const pastMoment = v.pipe(
  momentOption,
  v.check((text) => Date.parse(text) <= Date.now(), "expected a time in the past, by this machine's clock"),
);
