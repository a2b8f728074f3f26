/** Checks of a bridge, run concurrently. A check changes nothing; a check that fails itself also gives a result. */
import { type Clock, systemClock } from '../../../shared/domain/clock.ts';

export interface Result {
  readonly result: 'ok' | 'skipped' | 'warning' | 'fault';
  readonly says: string;
  /** The command or setting that fixes it; null if there is nothing to fix. */
  readonly mend: string | null;
}
/** As printed by `doctor --json`. */
export type CheckResult = Result & { readonly name: string };

export const warning = (says: string, mend: string): Result => ({ result: 'warning', says, mend });
export const fault = (says: string, mend: string): Result => ({ result: 'fault', says, mend });
export const skipped = (says: string): Result => ({ result: 'skipped', says, mend: null });

/** Reports what is wrong, and returns what to say if nothing is. {@link SkippedError} skips it. */
export type Check<Facts> = (facts: Facts, report: (problem: Result) => void) => Promise<string>;
/** By name. */
export type Checks<Facts> = Readonly<Record<string, Check<Facts>>>;

/** There is nothing to check, or something else must be fixed first: the message says which. */
export class SkippedError extends Error {
  override readonly name = 'SkippedError';
  readonly code = 'skipped';
}

/** What needs a look that failed is skipped. */
export const orSkip = <T>(look: Promise<T>, needed: string): Promise<T> =>
  look.catch((cause: unknown) => {
    throw cause instanceof SkippedError ? cause : new SkippedError(needed, { cause });
  });

const limitSeconds = 30;
const late = fault(
  `could not be looked at: no answer within ${limitSeconds} s`,
  'Run doctor again; if this stays, find out what does not answer',
);

/**
 * Never rejects; the results are in the order of the checks.
 *
 * @param facts what all of them look at
 * @param explain what an error of a check means; undefined for an unexpected error
 */
export const examine = <Facts>(
  checks: Checks<Facts>,
  facts: () => Promise<Facts>,
  explain: (error: unknown) => Result | undefined,
  clock: Clock = systemClock,
): Promise<CheckResult[]> =>
  Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      const over = new AbortController();
      const timeLimit = clock.sleep(limitSeconds * 1000, over.signal).then(() => late);
      const result = await Promise.race([resultOf(check, facts), timeLimit]).catch((error: unknown) => {
        if (error instanceof SkippedError) return skipped(error.message);
        const [line] = String(error).split('\n');
        return explain(error) ?? fault(`could not be looked at: ${line}`, 'Report this');
      });
      over.abort();
      return { name, ...result };
    }),
  );

const maxShown = 10;

/** One result for several problems: that of the worst, which comes first. */
async function resultOf<Facts>(check: Check<Facts>, facts: () => Promise<Facts>): Promise<Result> {
  const problems: Result[] = [];
  const fine = await check(await facts(), (problem) => problems.push(problem));
  problems.sort((a, b) => Number(b.result === 'fault') - Number(a.result === 'fault'));
  const [worst] = problems;
  if (!worst) return { result: 'ok', says: fine, mend: null };
  const shown = problems.slice(0, maxShown);
  const says = shown.map((problem) => problem.says);
  if (problems.length > maxShown) says.push(`and ${problems.length - maxShown} more`);
  const mends = new Set(shown.map(({ mend }) => mend));
  return { result: worst.result, says: says.join('; '), mend: [...mends].join('\n') };
}
