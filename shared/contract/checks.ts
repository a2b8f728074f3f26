import * as v from 'valibot';

/** IDs are digits only: also what keeps a hostile feed from reaching another path of the service. */
export const advertIdPattern = /^[0-9]{1,20}$/;

/** A partner account's name is part of secret names, event IDs and message groups. */
const partnerAccountPattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export const advertId = v.pipe(v.string(), v.regex(advertIdPattern, 'expected 1 to 20 digits'));

export const partnerAccountName = v.pipe(
  v.string(),
  v.regex(
    partnerAccountPattern,
    'expected 1 to 64 letters, digits, ".", "_" or "-", beginning with a letter or digit',
  ),
);

/** Unknown statuses pass through: the partner service does not publish its list of values. */
export const status = v.pipe(
  v.string(),
  v.minLength(1, 'expected 1 to 256 characters'),
  v.maxLength(256, 'expected 1 to 256 characters'),
  // Half a surrogate pair would not come back from every store as it went in.
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

/**
 * The form of a stored row, a message or a secret: absent is 1, the only one so far. What another form has to be is in
 * docs/decisions/0025-upgrades.md. Whoever meets a greater one than it knows leaves the thing alone.
 */
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

/** Of what has no other shape that is checked. */
export const ofKnownForm = v.looseObject({ form });

/** Whether a newer bridge wrote it: then it is no fault of what is stored, and must stay as it is. */
export const isOfNewerForm = ({ flaws }: ShapeError): boolean =>
  flaws.some(({ path }) => /(^|\.)form$/.test(path));

export const wholeNumber = (least: number) =>
  v.pipe(
    v.number(),
    v.safeInteger('expected a whole number'),
    v.minValue(least, `expected at least ${least}`),
  );

export interface Flaw {
  /** Where in the value, such as `data[3]`; empty for the value itself. */
  readonly path: string;
  /** What it should be. Never what was found: that may be a secret. */
  readonly expected: string;
}

/** A value that crossed a boundary is not of the shape agreed. The message names places, never contents. */
export class ShapeError extends Error {
  override readonly name = 'ShapeError';
  readonly code = 'wrong-shape';
  readonly place: string;
  readonly flaws: readonly Flaw[];

  constructor(place: string, flaws: readonly Flaw[], options?: ErrorOptions) {
    super(
      `${place}: ${flaws.map(({ path, expected }) => (path ? `${path}: ${expected}` : expected)).join('; ')}`,
      options,
    );
    this.place = place;
    this.flaws = flaws;
  }
}

type Schema = v.GenericSchema<unknown, unknown>;

/** The faults of `value` against `schema`: one for each place, of at most twenty places, and none of its contents. */
export function flawsOf(issues: readonly v.BaseIssue<unknown>[]): Flaw[] {
  const flaws = new Map<string, Flaw>();
  for (const issue of issues) {
    const path = v.getDotPath(issue) ?? '';
    if (!flaws.has(path)) flaws.set(path, { path, expected: saysExpected(issue) });
    if (flaws.size === 20) break;
  }
  return [...flaws.values()];
}

// valibot's own messages quote what was received, so only custom ones (which begin with "expected") are kept.
function saysExpected(issue: v.BaseIssue<unknown>): string {
  if (issue.message.startsWith('expected')) return issue.message;
  if (issue.received === 'undefined') return 'missing';
  if (issue.type === 'strict_object' && issue.expected === 'never') return 'expected no such field';
  return `expected ${issue.expected ?? issue.type}`;
}

/**
 * `value` checked against `schema`.
 *
 * @param place what the value is, for the message: `feed page`, `secret advert-bridge/application`
 * @throws {ShapeError} naming every place that is wrong
 */
export function checked<S extends Schema>(schema: S, value: unknown, place: string): v.InferOutput<S> {
  const result = v.safeParse(schema, value);
  if (result.success) return result.output;
  throw new ShapeError(place, flawsOf(result.issues));
}

/**
 * JSON text parsed, then checked against `schema`.
 *
 * @throws {ShapeError} also for text that is not JSON
 */
export function checkedJson<S extends Schema>(schema: S, text: string, place: string): v.InferOutput<S> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's message quotes the text, which may hold a secret: so no cause either.
    throw new ShapeError(place, [{ path: '', expected: 'expected JSON' }]);
  }
  return checked(schema, value, place);
}

/** Told of a stored row that cannot be read, which is then left out. */
export type OnUnreadable = (error: ShapeError) => void;

/**
 * The rows, each read by itself: one that cannot be read hides no other.
 *
 * @param onUnreadable without it the first such row is thrown
 * @throws {ShapeError}
 */
export function readRows<R, T>(
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
      onUnreadable(error);
      return [];
    }
  });
}
