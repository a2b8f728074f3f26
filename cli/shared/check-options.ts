import * as v from 'valibot';
import { UsageError } from '../../operations/errors.ts';
import { flawsOf } from '../../shared/contract/checks.ts';

type Shape = v.ObjectEntries;

/**
 * The options, checked all together, so that one attempt shows every fault.
 *
 * @param names how each is written on the command line, where that is not its name in kebab case
 * @throws {UsageError} naming each one that is wrong and what it should be; never what was given
 */
export function checkedOptions<const S extends Shape>(
  entries: S,
  given: Readonly<Record<string, unknown>>,
  names: Readonly<Record<string, string>> = {},
): v.InferOutput<v.ObjectSchema<S, undefined>> {
  // A missing one is told like a wrong one, by what it should be.
  const all = Object.fromEntries(Object.keys(entries).map((name) => [name, given[name]]));
  const result = v.safeParse(v.object(entries), all);
  if (result.success) return result.output;
  const lines = flawsOf(result.issues).map(
    // Of an option that may be given several times the path has a number.
    ({ path, expected }) => `${names[path] ?? optionOf(path.replace(/\.\d+$/, ''))}: ${expected}`,
  );
  throw new UsageError(
    lines.length === 1 ? lines[0] : `${lines.length} options are wrong:\n  ${lines.join('\n  ')}`,
  );
}

/** `pollSeconds` as it stands on the command line: `--poll-seconds`. */
export const optionOf = (name: string): string =>
  `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

/** A whole number, as an option gives it: as text. */
export const wholeOption = (least: number, most: number, what = 'a whole number') => {
  const expected = `expected ${what} from ${least} to ${most}`;
  return v.pipe(
    v.string(expected),
    v.regex(/^\d{1,15}$/, expected),
    v.transform(Number),
    v.minValue(least, expected),
    v.maxValue(most, expected),
  );
};

const instantWithZone = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d{1,3})?(Z|[+-]\d\d:\d\d)$/;

const expectedMoment =
  'expected a time with its zone, such as 2026-11-20T12:00:00Z or 2026-11-20T13:00:00+01:00';

/** A moment with its time zone; one that is in UTC already stays as it was written. */
export const momentOption = v.pipe(
  v.string(expectedMoment),
  v.check(isMoment, expectedMoment),
  v.transform((text) => (text.endsWith('Z') ? text : new Date(text).toISOString())),
);

function isMoment(text: string): boolean {
  const [, day = '', time = ''] = instantWithZone.exec(text) ?? [];
  const asUtc = new Date(`${day}T${time}Z`);
  // 30 February would pass for 2 March.
  return (
    !Number.isNaN(asUtc.getTime()) &&
    asUtc.toISOString().startsWith(`${day}T${time}`) &&
    !Number.isNaN(Date.parse(text))
  );
}
