/**
 * Checks of a bridge, run concurrently. A check changes nothing; a check that fails itself also gives a result. What a
 * check finds is a code and facts: doctor.json has the sentences.
 */
import { type Clock, systemClock, withinTime } from '../../../shared/domain/clock.ts';
import { type Facts, filled, type Mends, type Remedy, remedied } from '../../../shared/findings/sentences.ts';
import doctor from './doctor.json' with { type: 'json' };

export interface Result {
  readonly result: 'ok' | 'skipped' | 'warning' | 'fault';
  readonly says: string;
  /** The command or setting that fixes it; null if there is nothing to fix. */
  readonly mend: string | null;
}
/** `doctor --json` prints the remedies as one text. */
export type CheckResult = Omit<Result, 'mend'> & { readonly name: string; readonly mends: readonly string[] };

/** A code of doctor.json, with the facts for its sentences. */
export type Coded = readonly [code: string, facts?: Facts];
/** What a check has found; a result has its sentences already. */
export type Found = Coded | Result;

/** What is said, by how bad it is; and what mends it. */
type Entry = { readonly [result in 'fault' | 'warning' | 'skipped']?: string } & {
  readonly mend?: Remedy;
};
type Entries = Readonly<Record<string, Entry | string>>;
/** Of each check, by its name, or the name of the check with the same: `ok`, and what may be wrong. `any`: of any check. */
export type Catalogue = Readonly<Record<string, Entries | string>>;

/** Reports what is wrong. @returns the facts for what to say if nothing is. {@link SkippedError} skips it */
export type Check<F> = (
  facts: F,
  report: (found: string | Result, facts?: Facts) => void,
) => Promise<Facts | undefined>;
/** By name. */
export type Checks<F> = Readonly<Record<string, Check<F>>>;

/** There is nothing to check, or something else must be fixed first. */
export class SkippedError extends Error {
  override readonly name = 'SkippedError';
  readonly found: Coded;

  constructor(code: string, { facts, ...options }: { readonly facts?: Facts } & ErrorOptions = {}) {
    super(code, options);
    this.found = [code, facts];
  }
}

/** What needs a look that failed is skipped. @param code that says what is needed */
export const orSkip = <T>(look: Promise<T>, code: string): Promise<T> =>
  look.catch((cause: unknown) => {
    throw cause instanceof SkippedError ? cause : new SkippedError(code, { cause });
  });

const limitSeconds = 30;

interface Examination<F> extends Mends {
  readonly checks: Checks<F>;
  /** What all of them look at. */
  readonly facts: () => Promise<F>;
  /** What an error of a check means; undefined for an unexpected error. */
  readonly explain: (error: unknown) => Found | undefined;
  readonly catalogue?: Catalogue;
  readonly clock?: Clock;
}

/** Never rejects; the results are in the order of the checks. */
export const examine = <F>({
  checks,
  facts,
  explain,
  catalogue = doctor as Catalogue,
  clock = systemClock,
  ...mends
}: Examination<F>): Promise<CheckResult[]> =>
  Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      const late = (): Found[] => [['late', { seconds: limitSeconds }]];
      const found = await withinTime(foundBy(check, facts), { clock, ms: limitSeconds * 1000, late }).catch(
        (error: unknown): Found[] => {
          if (error instanceof SkippedError) return [error.found];
          const [line] = String(error).split('\n');
          return [explain(error) ?? ['failed', { error: line }]];
        },
      );
      return { name, ...joined(found.map((one) => resultOf(one, name, catalogue, mends))) };
    }),
  );

async function foundBy<F>(check: Check<F>, facts: () => Promise<F>): Promise<Found[]> {
  const problems: Found[] = [];
  const fine = await check(await facts(), (found, about) => {
    problems.push(typeof found === 'string' ? [found, about] : found);
  });
  return problems.length > 0 ? problems : [['ok', fine ?? {}]];
}

function resultOf(found: Found, check: string, catalogue: Catalogue, mends: Mends): Result {
  if ('says' in found) return found;
  const [code, facts = {}] = found;
  const entry = catalogueEntry(catalogue, check, code);
  if (typeof entry === 'string') return { result: 'ok', says: filled(entry, facts, mends), mend: null };
  const { mend, ...words } = entry;
  const [result = 'fault', says = code] = (Object.entries(words) as [Result['result'], string][])[0] ?? [];
  return { result, says: filled(says, facts, mends), mend: remedied(mend, facts, mends) };
}

function catalogueEntry(catalogue: Catalogue, check: string, code: string): Entry | string {
  const own = catalogue[check];
  if (typeof own === 'string') return catalogueEntry(catalogue, own, code);
  const any = catalogue.any as Entries;
  return own?.[code] ?? any[code] ?? code;
}

const maxShown = 10;

/** One result for several problems: that of the worst, which comes first. */
function joined(problems: readonly Result[]): Omit<CheckResult, 'name'> {
  const sorted = problems.toSorted((a, b) => Number(b.result === 'fault') - Number(a.result === 'fault'));
  const shown = sorted.slice(0, maxShown);
  const says = shown.map((problem) => problem.says);
  if (problems.length > maxShown) says.push(`and ${problems.length - maxShown} more`);
  const mends = new Set(shown.flatMap(({ mend }) => mend ?? []));
  const { result = 'ok' } = sorted[0] ?? {};
  return { result, says: says.join('; '), mends: [...mends] };
}
