/** What main.ts tells the workers (plan.json), and what they tell it. */

export type Plan =
  /** Each test twice, without a mutant: which mutants does it come by, and how long does it take? */
  | { readonly kind: 'cover' }
  /** Each test with its mutants, one after another, in one process. */
  | { readonly kind: 'switch'; readonly tests: Readonly<Record<string, PlannedTest>> }
  /** Whole files with one mutant, which is active from the imports on. */
  | { readonly kind: 'whole'; readonly mutant: string };

export interface PlannedTest {
  /** How long it takes without a mutant. */
  readonly ms: number;
  /** `hits`: how often its place is come by without it. */
  readonly mutants: readonly { readonly id: string; readonly hits: number }[];
}

export interface CoveredTest {
  readonly id: string;
  readonly ms: number;
  readonly cpuMs: number;
  /** False: it fails when it is run a second time in the same process. */
  readonly isRepeatable: boolean;
}

/** Of one test file; the counts are by mutant. */
export interface Covered {
  readonly file: string;
  readonly tests: readonly CoveredTest[];
  /** Come by outside of tests: while modules are loaded, and in `beforeAll`. */
  readonly once: Readonly<Record<string, number>>;
  readonly perTest: Readonly<Record<string, Readonly<Record<string, number>>>>;
}
