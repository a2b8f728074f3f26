/** Checks of a bridge, run concurrently. A check changes nothing; a check that fails itself also gives a result. */
import { type Clock, systemClock } from '../../shared/domain/clock.ts';
import { once } from '../bridge.ts';

export interface Problem {
  readonly result: 'warning' | 'fault';
  readonly says: string;
  /** The command or setting that fixes it. */
  readonly mend: string;
}

export const warning = (says: string, mend: string): Problem => ({ result: 'warning', says, mend });
export const fault = (says: string, mend: string): Problem => ({ result: 'fault', says, mend });

/** A message that says what is wrong and then what to do. */
export function faultIn(message: string): Problem {
  const [says = '', ...mend] = message.split(/\.\s+(?=[A-Z`])/);
  return fault(says, mend.join('. ') || 'Run doctor again; if this remains, investigate it');
}

export interface Judgement {
  readonly fine: string;
  readonly problems: readonly (Problem | false | undefined)[];
}

export const judged = (fine: string, ...problems: Judgement['problems']): Judgement => ({ fine, problems });

/** Checks by name. Each looks and judges; its errors become a fault, except {@link SkippedError}. */
export type Checks = Readonly<Record<string, () => Promise<Judgement>>>;

/** There is nothing to check, or something else must be fixed first: the message says which. */
export class SkippedError extends Error {
  override readonly name = 'SkippedError';
  readonly code = 'skipped';
}

/** Looks once; when that fails, what needs it is skipped. */
export const orSkip = <T>(look: () => Promise<T>, needed: string): (() => Promise<T>) =>
  once(() =>
    look().catch((cause: unknown) => {
      throw new SkippedError(needed, { cause });
    }),
  );

/** As printed by `doctor --json`. */
export interface CheckResult {
  readonly name: string;
  readonly result: 'ok' | 'skipped' | Problem['result'];
  readonly says: string;
  readonly mend: string | null;
}
type Result = Omit<CheckResult, 'name'>;

interface Examination {
  /** Returns what an error of a check means; undefined for an unexpected error. */
  readonly explain: (error: unknown) => Result | undefined;
  /** Time limit per check. Default: 30,000. */
  readonly limitMs?: number;
  readonly clock?: Clock;
}

/** Never rejects; the results are in the order of the checks. */
export const examine = (checks: Checks, examination: Examination): Promise<CheckResult[]> =>
  Promise.all(
    Object.entries(checks).map(async ([name, look]) => ({ name, ...(await resultOf(look, examination)) })),
  );

async function resultOf(look: Checks[string], examination: Examination): Promise<Result> {
  const { explain, limitMs = 30_000, clock = systemClock } = examination;
  const over = new AbortController();
  const late = fault(
    `could not be looked at: no answer within ${limitMs / 1000} s`,
    'Run doctor again; if this stays, find out what does not answer',
  );
  try {
    return await Promise.race([look().then(together), clock.sleep(limitMs, over.signal).then(() => late)]);
  } catch (error) {
    if (error instanceof SkippedError) return { result: 'skipped', says: error.message, mend: null };
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    const unforeseen = `could not be looked at: ${name}: ${message.split('\n')[0]}`;
    return explain(error) ?? fault(unforeseen, 'Report this');
  } finally {
    over.abort();
  }
}

const maxShown = 10;

/** One result for several problems: that of the worst, which comes first. */
function together({ fine, problems }: Judgement): Result {
  const found = problems.filter((problem) => problem !== undefined && problem !== false);
  const sorted = found.toSorted((a, b) => Number(b.result === 'fault') - Number(a.result === 'fault'));
  const [worst] = sorted;
  if (!worst) return { result: 'ok', says: fine, mend: null };
  const shown = sorted.slice(0, maxShown);
  const says = shown.map((problem) => problem.says);
  if (sorted.length > maxShown) says.push(`and ${sorted.length - maxShown} more`);
  const mends = new Set(shown.map(({ mend }) => mend));
  return { result: worst.result, says: says.join('; '), mend: [...mends].join('\n') };
}
