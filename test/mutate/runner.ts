/**
 * Vitest's runner in the workers of a mutation run: it switches mutants on and off between tries of one test, so that the
 * imports of a test file, which cost more than its tests, are paid once for all mutants and not for each.
 *
 * @see https://vitest.dev/api/advanced/runner
 */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { type RunnerTestCase, type RunnerTestFile, TestRunner, type TestTryOptions } from 'vitest';
import type { Covered, CoveredTest, Plan } from './plan.ts';

/** What the instrumented code looks at. */
interface Switches {
  activeMutant?: string | undefined;
  currentTestId?: string | undefined;
  hitCount?: number | undefined;
  hitLimit?: number | undefined;
  mutantCoverage?: { static: Record<string, number>; perTest: Record<string, Record<string, number>> };
}

const switches: Switches = {};
Object.assign(globalThis, { __stryker__: switches });

/** Tries after which the test is tried without a mutant: had one broken something that stays, all that follow would fail. */
const mutantsBetweenChecks = 8;
const { setTimeout, clearTimeout } = globalThis;

type Task = Parameters<TestRunner['onBeforeTryTask']>[0];

// biome-ignore lint/style/noDefaultExport: Vitest asks for it.
export default class MutationRunner extends TestRunner {
  readonly #dir = process.env.MUTATE_DIR ?? '';
  readonly #plan = JSON.parse(readFileSync(`${this.#dir}/plan.json`, 'utf8')) as Plan;
  readonly #tests: CoveredTest[] = [];
  /** What the tries of the test in hand are made with; undefined: no mutant. */
  #tries: (string | undefined)[] = [];
  #suspected: string[] = [];
  #startedAt = 0;
  #cpuAtStart = process.cpuUsage();

  constructor(...args: ConstructorParameters<typeof TestRunner>) {
    super(...args);
    if (this.#plan.kind === 'whole') activate(this.#plan.mutant, 1e6);
  }

  override async onBeforeRunTask(test: RunnerTestCase): Promise<void> {
    await super.onBeforeRunTask(test);
    if (test.mode !== 'run' && test.mode !== 'queued') return;
    if (this.#plan.kind === 'cover') {
      this.#tests.push({ id: test.id, ms: 0, cpuMs: 0, isRepeatable: true });
      test.repeats = 1;
    }
    if (this.#plan.kind === 'switch') {
      const settled = settledIn(readFileSync(`${this.#dir}/results`, 'utf8'));
      const left = settled.has(test.id)
        ? []
        : (this.#plan.tests[test.id]?.mutants ?? []).filter(({ id }) => !settled.has(id));
      this.#tries = left.flatMap(({ id }, index) => {
        const isCheck = (index + 1) % mutantsBetweenChecks === 0 || index === left.length - 1;
        return isCheck ? [id, undefined] : [id];
      });
      if (this.#tries.length === 0) test.mode = 'skip';
      test.repeats = this.#tries.length - 1;
    }
  }

  override onBeforeTryTask(test: Task, options: TestTryOptions): void {
    super.onBeforeTryTask(test, options);
    this.#startedAt = performance.now();
    this.#cpuAtStart = process.cpuUsage();
    if (this.#plan.kind === 'cover') switches.currentTestId = test.id;
    if (this.#plan.kind !== 'switch' || !test.result) return;
    delete test.result.errors;
    test.result.attempts = [];
    const mutant = this.#tries[options.repeats];
    const hits = this.#plan.tests[test.id]?.mutants.find(({ id }) => id === mutant)?.hits ?? 0;
    activate(mutant, 1_000 + 100 * hits);
    writeFileSync(`${this.#dir}/now-${process.pid}`, `${mutant ?? ''} ${Date.now()} ${this.#limitMs(test)}`);
  }

  async runTask(test: RunnerTestCase): Promise<void> {
    const run = TestRunner.getTestFn(test);
    if (this.#plan.kind !== 'switch' || switches.activeMutant === undefined) return run();
    let timer: NodeJS.Timeout | undefined;
    const tooLong = new Promise<void>((_, reject) => {
      timer = setTimeout(() => reject(new Error('takes too long')), this.#limitMs(test));
    });
    await Promise.race([run(), tooLong]).finally(() => clearTimeout(timer));
  }

  override async onAfterRetryTask(test: RunnerTestCase, options: TestTryOptions): Promise<void> {
    await super.onAfterRetryTask(test, options);
    const isFailed = test.result?.state === 'fail';
    if (this.#plan.kind === 'cover') {
      const entry = this.#tests.at(-1);
      if (!entry || (isFailed && options.repeats === 0)) return;
      const { user, system } = process.cpuUsage(this.#cpuAtStart);
      const ms = performance.now() - this.#startedAt;
      Object.assign(entry, { ms, cpuMs: (user + system) / 1000, isRepeatable: !isFailed });
      delete test.result?.errors;
    }
    if (this.#plan.kind !== 'switch') return;
    const { activeMutant } = switches;
    activate(undefined, 0);
    if (activeMutant !== undefined) {
      if (isFailed) this.#suspected.push(activeMutant);
      return;
    }
    for (const mutant of this.#suspected) this.#note(isFailed ? 'unsure' : 'killed', mutant, test.id);
    if (isFailed) {
      if (this.#suspected.length === 0) this.#note('done', test.id, test.id);
      // What follows would fail for the same reason: the file is begun again in a process that is whole.
      process.exit(1);
    }
    this.#suspected = [];
    if (options.repeats === this.#tries.length - 1) this.#note('done', test.id, test.id);
  }

  override onAfterRunTask(test: RunnerTestCase): void {
    super.onAfterRunTask(test);
    switches.currentTestId = undefined;
  }

  override onAfterRunFiles(files: RunnerTestFile[]): void {
    super.onAfterRunFiles(files);
    const [file] = files;
    if (!file) return;
    if (this.#plan.kind === 'switch') this.#note('done', file.filepath, '');
    if (this.#plan.kind !== 'cover') return;
    const { mutantCoverage } = switches;
    const covered: Covered = {
      file: file.filepath,
      tests: this.#tests,
      once: mutantCoverage?.static ?? {},
      perTest: mutantCoverage?.perTest ?? {},
    };
    writeFileSync(`${this.#dir}/covered-${file.id}.json`, JSON.stringify(covered));
  }

  #limitMs({ id }: Task): number {
    return 2_000 + 10 * (this.#plan.kind === 'switch' ? (this.#plan.tests[id]?.ms ?? 0) : 0);
  }

  #note(what: 'killed' | 'unsure' | 'done', id: string, by: string): void {
    appendFileSync(`${this.#dir}/results`, `${what} ${id} ${by}\n`);
  }
}

/** @param hitLimit a mutant that is met more often than this has made a loop endless */
function activate(mutant: string | undefined, hitLimit: number): void {
  Object.assign(switches, { activeMutant: mutant, hitCount: 0, hitLimit });
}

/** What needs no further try: mutants that were killed, tests that are done. */
const settledIn = (results: string): Set<string> =>
  new Set(results.split('\n').map((line) => line.split(' ')[1] ?? ''));
