/** Result of a bench: figures with targets, tables and plots. bench/report/page.ts renders it. */

export interface Figure {
  readonly what: string;
  /** One value per round. */
  readonly rounds: readonly number[];
  readonly unit: string;
  /** Number of decimals. Default 2. */
  readonly digits?: number;
  /** Limit for the median. Default: no target. */
  readonly target?: { readonly most: number } | { readonly least: number };
}

export interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
}

export interface Plot {
  readonly title: string;
  readonly xTitle: string;
  readonly yTitle: string;
  /** Default linear; `log`: powers of ten. */
  readonly xScale?: 'linear' | 'log';
  readonly yScale?: 'linear' | 'log';
  readonly lines: readonly {
    readonly name: string;
    readonly points: readonly (readonly [number, number])[];
  }[];
}

export interface Report {
  readonly figures: readonly Figure[];
  readonly tables?: readonly Table[];
  readonly plots?: readonly Plot[];
  /** Sentences that a reader of the figures needs. */
  readonly notes?: readonly string[];
}

export interface BenchOptions {
  /** How often each measurement is repeated; compared programs run in turn. */
  readonly rounds: number;
  /** Less work, to check that the bench runs; the figures mean little. */
  readonly isShort: boolean;
  /** Reports progress to the person who waits. */
  progress(text: string): void;
}

export interface Bench {
  /** One line about what it measures. */
  readonly does: string;
  run(options: BenchOptions): Promise<Report>;
}

export const median = (values: readonly number[]): number => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
};

/** The quantile: the value that a share of `share` of the values does not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

/** Whether the target is met; undefined without a target. */
export function isMet({ rounds, target }: Figure): boolean | undefined {
  if (!target) return undefined;
  return 'most' in target ? median(rounds) <= target.most : median(rounds) >= target.least;
}

/** The median, with the range if there were several rounds. */
export function shownValue({ rounds, unit, digits = 2 }: Figure): string {
  const show = (value: number) => value.toFixed(digits);
  const range = rounds.length > 1 ? ` (${show(Math.min(...rounds))}–${show(Math.max(...rounds))})` : '';
  return `${show(median(rounds))}${range}${unit && ` ${unit}`}`;
}

export function shownTarget({ target, unit, digits = 2 }: Figure): string {
  if (!target) return '';
  const [sign, bound] = 'most' in target ? ['≤', target.most] : ['≥', target.least];
  return `${sign} ${Number(bound.toFixed(Math.max(digits, 2)))}${unit && ` ${unit}`}`;
}
