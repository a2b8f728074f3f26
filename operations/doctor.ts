/** Checks of a bridge, run concurrently. A check changes nothing; a check that fails itself also gives a result. */
import { type Clock, systemClock } from '../shared/domain/clock.ts';

export interface Check {
  readonly name: string;
  /** Its errors become a fault, except {@link SkippedError}. */
  look(): Promise<Finding>;
}

export const check = (name: string, look: Check['look']): Check => ({ name, look });

export type Finding =
  | { readonly result: 'ok' | 'skipped'; readonly says: string }
  | {
      readonly result: 'warning' | 'fault';
      readonly says: string;
      /** The command or setting that fixes it. */
      readonly mend: string;
    };

/** As printed by `doctor --json`. */
export interface CheckResult {
  readonly name: string;
  readonly result: Finding['result'];
  readonly says: string;
  /** Null if there is nothing to fix. */
  readonly mend: string | null;
}

export const ok = (says: string): Finding => ({ result: 'ok', says });
export const warning = (says: string, mend: string): Finding => ({ result: 'warning', says, mend });
export const fault = (says: string, mend: string): Finding => ({ result: 'fault', says, mend });

/** There is nothing to check, or something else must be fixed first: the message says which. */
export class SkippedError extends Error {
  override readonly name = 'SkippedError';
  readonly code = 'skipped';
}

/** Maximum number of findings shown in full when one check examines many things. */
const maxTold = 10;

/**
 * Combines the findings of one check about several things: the result is the worst of them.
 *
 * @param fine message if there are no findings
 */
export function together(fine: string, findings: readonly Finding[]): Finding {
  const bad = findings.filter((finding) => 'mend' in finding);
  if (bad.length === 0) return ok(fine);
  const told = bad.toSorted((a, b) => Number(b.result === 'fault') - Number(a.result === 'fault'));
  const says = told.slice(0, maxTold).map((finding) => finding.says);
  const mends = new Set(told.slice(0, maxTold).map(({ mend }) => mend));
  if (told.length > maxTold) says.push(`and ${told.length - maxTold} more`);
  return { result: told[0]?.result ?? 'fault', says: says.join('; '), mend: [...mends].join('\n') };
}

export interface Examination {
  /** Returns a finding for an error of a check; undefined for an unexpected error. */
  readonly explain: (error: unknown) => Finding | undefined;
  /** Time limit per check. Default: 30,000. */
  readonly limitMs?: number;
  readonly clock?: Clock;
}

/** Runs the checks concurrently. Never rejects; the results are in the order of the checks. */
export function examine(checks: readonly Check[], examination: Examination): Promise<CheckResult[]> {
  return Promise.all(
    checks.map(async (check) => {
      const { result, says, ...rest } = await findingOf(check, examination);
      return { name: check.name, result, says, mend: 'mend' in rest ? rest.mend : null };
    }),
  );
}

async function findingOf({ look }: Check, examination: Examination): Promise<Finding> {
  const { explain, limitMs = 30_000, clock = systemClock } = examination;
  const over = new AbortController();
  const tooLate = clock
    .sleep(limitMs, over.signal)
    .then(() =>
      fault(
        `could not be looked at: no answer within ${limitMs / 1000} s`,
        'Run doctor again; if this stays, find out what does not answer',
      ),
    );
  try {
    return await Promise.race([look(), tooLate]);
  } catch (error) {
    if (error instanceof SkippedError) return { result: 'skipped', says: error.message };
    return (
      explain(error) ??
      fault(
        `could not be looked at: ${error instanceof Error ? `${error.name}: ${error.message.split('\n')[0]}` : String(error)}`,
        'Report this',
      )
    );
  } finally {
    over.abort();
  }
}
