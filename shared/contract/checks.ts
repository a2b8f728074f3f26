import * as v from 'valibot';

/** IDs consist only of digits. This also keeps a hostile feed from injecting another path of the service. */
export const advertIdPattern = /^[0-9]{1,20}$/;

export const advertId = v.pipe(v.string(), v.regex(advertIdPattern, 'expected 1 to 20 digits'));

/** A partner account's name is part of secret names, event IDs and message groups. */
export const partnerAccountName = v.pipe(
  v.string(),
  v.regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
    'expected 1 to 64 letters, digits, ".", "_" or "-", beginning with a letter or digit',
  ),
);

/** Unknown statuses pass through: the partner service does not publish its list of values. */
export const status = v.pipe(
  v.string(),
  v.minLength(1, 'expected 1 to 256 characters'),
  v.maxLength(256, 'expected 1 to 256 characters'),
  // Not every store returns half a surrogate pair unchanged.
  v.check((text) => text.isWellFormed(), 'expected well-formed text'),
);

/** An instant in UTC, such as `2026-11-20T12:00:00.123Z`. */
export const instant = v.pipe(
  v.string(),
  v.regex(
    /^[0-9]{4}-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9](\.[0-9]{1,3})?Z$/,
    'expected a UTC time such as 2026-11-20T12:00:00.123Z',
  ),
  v.check((text) => !Number.isNaN(Date.parse(text)), 'expected a time that there is'),
);

/** Form (shape version) of a row, message or secret; absent: 1, the only one so far. See docs/decisions/0025-upgrades.md. */
const newestForm = 1;
export const form = v.exactOptional(
  v.pipe(
    v.number(),
    v.maxValue(
      newestForm,
      `expected at most ${newestForm}: a newer Advert Bridge wrote this. Deploy that version again, which can read it`,
    ),
  ),
);

/** Schema of a stored object. Fields that a newer bridge has added are kept, without a type. */
export const kept = <const E extends v.ObjectEntries>(entries: E) =>
  v.looseObject(entries) as unknown as v.ObjectSchema<E, undefined>;

export const someText = v.pipe(v.string(), v.minLength(1, 'expected some text'));
/** Ms since 1970. */
export const moment = v.pipe(v.number(), v.finite('expected a time in milliseconds'));

export const wholeNumber = (least: number) =>
  v.pipe(
    v.number(),
    v.safeInteger('expected a whole number'),
    v.minValue(least, `expected at least ${least}`),
  );

export interface Flaw {
  /** Place in the value, such as `data[3]`; empty for the value itself. */
  readonly path: string;
  /** What was expected. Never the actual value, which may be a secret. */
  readonly expected: string;
}

/** A value from outside does not have the expected shape. The message names places, never contents. */
export class ShapeError extends Error {
  override readonly name = 'ShapeError';
  /** A damaged secret has another remedy than a damaged row. */
  readonly code: 'wrong-shape' | 'malformed-application' | 'malformed-pair';
  readonly flaws: readonly Flaw[];

  constructor(place: string, flaws: readonly Flaw[], code: ShapeError['code'] = 'wrong-shape') {
    super(
      `${place}: ${flaws.map(({ path, expected }) => (path ? `${path}: ${expected}` : expected)).join('; ')}`,
    );
    this.flaws = flaws;
    this.code = code;
  }
}

/** The faults of `value` against `schema`: one per place, for at most twenty places, without any contents. */
export function flawsOf(issues: readonly v.BaseIssue<unknown>[]): Flaw[] {
  const flaws = new Map<string, Flaw>();
  for (const issue of issues) {
    const path = v.getDotPath(issue) ?? '';
    if (!flaws.has(path)) flaws.set(path, { path, expected: saysExpected(issue) });
    if (flaws.size === 20) break;
  }
  return [...flaws.values()];
}

// valibot's own messages quote the received value, so only our messages (which begin with "expected") are kept.
function saysExpected(issue: v.BaseIssue<unknown>): string {
  if (issue.message.startsWith('expected')) return issue.message;
  if (issue.received === 'undefined') return 'missing';
  if (issue.type === 'strict_object' && issue.expected === 'never') return 'expected no such field';
  return `expected ${issue.expected ?? issue.type}`;
}

/** @param place name of the value for the message: `feed page` @throws {ShapeError} with every wrong place */
export function checked<S extends v.GenericSchema>(
  schema: S,
  value: unknown,
  place: string,
  code?: ShapeError['code'],
): v.InferOutput<S> {
  const result = v.safeParse(schema, value);
  if (result.success) return result.output;
  throw new ShapeError(place, flawsOf(result.issues), code);
}

/** @throws {ShapeError} also for text that is not JSON */
export function checkedJson<S extends v.GenericSchema>(
  schema: S,
  text: string,
  place: string,
  code?: ShapeError['code'],
): v.InferOutput<S> {
  const value = parsedJson(text);
  if (value === undefined) throw new ShapeError(place, [{ path: '', expected: 'expected JSON' }], code);
  return checked(schema, value, place, code);
}

/** Undefined if the text is not JSON. The parser's own error would quote it, and it may contain a secret. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export type OnUnreadable = (error: ShapeError, row: { readonly name: string }) => void;

/** Reads each row independently. @param onUnreadable default: throws {ShapeError} */
export function readRows<R extends { readonly name: string }, T>(
  rows: readonly R[],
  read: (row: R) => T,
  onUnreadable: OnUnreadable = (error) => {
    throw error;
  },
): T[] {
  return rows.flatMap((row) => {
    try {
      return [read(row)];
    } catch (error) {
      if (!(error instanceof ShapeError)) throw error;
      onUnreadable(error, row);
      return [];
    }
  });
}

/** The end of a message about an unknown name: the known one with which it shares two thirds of its pairs of letters. */
export function didYouMean(unknown: string, known: readonly string[]): string {
  const pairsOf = (name: string) =>
    [...name.toLowerCase()].map((letter, at, all) => letter + (all[at + 1] ?? ''));
  const pairs = pairsOf(unknown);
  const likeness = (name: string) => {
    const own = pairsOf(name);
    return own.filter((pair) => pairs.includes(pair)).length / Math.max(own.length, pairs.length);
  };
  const [nearest = ''] = known.toSorted((one, other) => likeness(other) - likeness(one));
  return likeness(nearest) >= 2 / 3 ? `: did you mean ${nearest}?` : '';
}
