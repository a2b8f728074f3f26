/**
 * Mutation test: small changes are made to the sources, one at a time, and each should make a test fail. Stryker's
 * instrumenter makes the changes; running the tests is done here, for Stryker's own runner starts Vitest anew for each of
 * them, which takes some three hours of CPU time for all.
 *
 * `npm run mutate -- [--only PATH] [--sample N [--seed S]] [--workers N] [--json FILE]`
 */
import { appendFileSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { BaseSequencer, createVitest, type TestSpecification, type Vitest } from 'vitest/node';
import { type Instrumented, instrument, type Mutant } from './instrument.ts';
import type { Covered, Plan, PlannedTest } from './plan.ts';
import { type Fate, report } from './report.ts';
import { sampleOf } from './sample.ts';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
    workers: { type: 'string', default: '2' },
    json: { type: 'string' },
  },
});

/** Tests that run in this process and are quick; not those that start others, which would run the sources as they are. */
const include = [
  'test/unit/{functions,partner-api,domain,sqlite,embedded,operations,fakes,bad-input,aws,cli}/**/*.test.ts',
  'test/ports/*.test.ts',
];
const exclude = [
  // They do nearly all in `beforeAll`, where no mutant can be switched on.
  '**/call-counts.test.ts',
  '**/aws/many-partner-accounts.test.ts',
  // They start processes.
  '**/cli/{process,run,start-up,webhook}.test.ts',
];
/** A test that takes more than this is not tried with mutants that enough other tests come by. */
const slowTestMs = 300;
const enoughTests = 20;
/** Files that a mutant is tried with whose place is come by once only, while modules are loaded. */
const filesForWhole = 6;

const dir = mkdtempSync(path.join(tmpdir(), 'mutate-'));
const resultsFile = path.join(dir, 'results');
const startedAt = Date.now();

async function main(): Promise<void> {
  const instrumented = await instrument(options.only);
  const chosen = options.sample
    ? sampleOf(instrumented.mutants, Number(options.sample), Number(options.seed))
    : instrumented.mutants;
  say(`${instrumented.mutants.length} mutants, ${chosen.length} of them tried`);
  writeFileSync(resultsFile, '');
  process.env.MUTATE_DIR = dir;
  const costs = new Map<string, number>();
  const vitest = await start(instrumented, { costs, isolate: true });
  const quick = await start(instrumented, { costs, isolate: false });
  try {
    const covered = await cover(vitest);
    for (const { file, tests } of covered)
      costs.set(
        file,
        tests.reduce((sum, { cpuMs }) => sum + cpuMs, 0),
      );
    await switchInTests(vitest, covered, chosen);
    await tryWhole(quick, covered, chosen);
    const results = read();
    const met = new Set(
      covered.flatMap(({ once, perTest }) => [once, ...Object.values(perTest)].flatMap(Object.keys)),
    );
    const fateOf = ({ id }: Mutant): Fate =>
      results.has(id) ? 'killed' : met.has(id) ? 'survived' : 'not covered';
    report({
      mutants: chosen,
      of: instrumented.mutants.length,
      ignored: instrumented.ignored,
      fateOf,
      file: options.json,
    });
    say('done');
  } finally {
    await vitest.close();
    await quick.close();
    rmSync(dir, { recursive: true });
  }
}

function say(text: string): void {
  process.stderr.write(`${String(Math.round((Date.now() - startedAt) / 1000)).padStart(5)} s  ${text}\n`);
}

/** Vitest over the instrumented sources; the files that cost least come first. */
function start(
  { code }: Instrumented,
  { costs, isolate }: { readonly costs: ReadonlyMap<string, number>; readonly isolate: boolean },
): Promise<Vitest> {
  const costOf = ({ moduleId }: TestSpecification) => costs.get(moduleId) ?? 0;
  class CheapestFirst extends BaseSequencer {
    override async sort(files: TestSpecification[]) {
      return files.toSorted((a, b) => costOf(a) - costOf(b));
    }
  }
  return createVitest(
    'test',
    {
      config: false,
      // Its keys do not know what a plugin has made of a file.
      fsModuleCache: false,
      ...{ include, exclude, watch: false, reporters: [{}], silent: true, passWithNoTests: true },
      ...{ pool: 'forks', isolate, maxWorkers: Number(options.workers) },
      // As in vitest.config.ts: what a test mocks must not reach the next, nor be taken for a mutant's doing.
      ...{ restoreMocks: true, unstubEnvs: true, setupFiles: ['test/setup.ts'] },
      runner: path.resolve('test/mutate/runner.ts'),
      sequence: { sequencer: CheapestFirst },
    },
    {
      ssr: { resolve: { conditions: ['advert-bridge-source', 'node', 'development|production'] } },
      plugins: [{ name: 'mutants', enforce: 'pre', load: (id) => code.get(id.split('?')[0] ?? '') }],
    },
  );
}

async function run(vitest: Vitest, plan: Plan, files: readonly string[]): Promise<void> {
  writeFileSync(path.join(dir, 'plan.json'), JSON.stringify(plan));
  const all = await vitest.globTestSpecifications();
  vitest.state.filesMap.clear();
  await vitest.runTestSpecifications(all.filter(({ moduleId }) => files.includes(moduleId)));
}

async function cover(vitest: Vitest): Promise<readonly Covered[]> {
  const all = (await vitest.globTestSpecifications()).map(({ moduleId }) => moduleId);
  await run(vitest, { kind: 'cover' }, all);
  const covered = globSync(path.join(dir, 'covered-*.json')).map(
    (file) => JSON.parse(readFileSync(file, 'utf8')) as Covered,
  );
  const failed = vitest.state
    .getFiles()
    .filter(({ filepath }) => !covered.some(({ file }) => file === filepath));
  if (failed.length > 0)
    throw new Error(`fail without a mutant: ${failed.map(({ name }) => name).join(', ')}`);
  say(`${covered.flatMap(({ tests }) => tests).length} tests cover them`);
  return covered;
}

/** Each test is tried with every mutant whose place it comes by, until one has killed it. */
async function switchInTests(
  vitest: Vitest,
  covered: readonly Covered[],
  mutants: readonly Mutant[],
): Promise<void> {
  const wanted = new Set(mutants.map(({ id }) => id));
  const tests: Record<string, PlannedTest> = {};
  const quickTests = new Map<string, number>();
  for (const { tests: all, perTest } of covered) {
    const quick = all.filter(({ isRepeatable, cpuMs }) => isRepeatable && cpuMs <= slowTestMs);
    for (const id of quick.flatMap(({ id }) => Object.keys(perTest[id] ?? {}))) {
      quickTests.set(id, (quickTests.get(id) ?? 0) + 1);
    }
  }
  for (const { tests: all, perTest } of covered) {
    for (const { id: test, ms, cpuMs } of all.filter(({ isRepeatable }) => isRepeatable)) {
      const isWorthIt = (id: string) => cpuMs <= slowTestMs || (quickTests.get(id) ?? 0) < enoughTests;
      const hits = Object.entries(perTest[test] ?? {}).map(([id, hits]) => ({ id, hits }));
      tests[test] = { ms, mutants: hits.filter(({ id }) => wanted.has(id) && isWorthIt(id)) };
    }
  }
  const isLeft = ({ file, tests: own }: Covered) =>
    !read('done').has(file) && own.some(({ id }) => (tests[id]?.mutants.length ?? 0) > 0);
  const watch = setInterval(killHanging, 2_000);
  for (let left = covered.filter(isLeft); left.length > 0; left = left.filter(isLeft)) {
    await run(
      vitest,
      { kind: 'switch', tests },
      left.map(({ file }) => file),
    );
    say(`${read().size} killed, ${left.filter(isLeft).length} files to go on with`);
  }
  clearInterval(watch);
}

/** A worker in an endless loop of its own hears nothing: it is ended, and its file goes on without that mutant. */
function killHanging(): void {
  for (const file of globSync(path.join(dir, 'now-*'))) {
    const [mutant = '', since, limitMs] = readFileSync(file, 'utf8').split(' ');
    if (!since || Date.now() < Number(since) + 10_000 + 2 * Number(limitMs)) continue;
    rmSync(file);
    if (mutant === '') continue;
    try {
      process.kill(Number(file.split('-').at(-1)), 'SIGKILL');
      appendFileSync(resultsFile, `killed ${mutant} hanging\n`);
    } catch {
      // It ended by itself a while ago.
    }
  }
}

/** What could not be switched on and off: each mutant with whole test files, those that exercise its source most. */
async function tryWhole(
  vitest: Vitest,
  covered: readonly Covered[],
  mutants: readonly Mutant[],
): Promise<void> {
  const killed = read();
  const unsure = read('unsure');
  const sourceOf = new Map(mutants.map(({ id, file }) => [id, file]));
  const left = mutants.filter(
    ({ id }) => !killed.has(id) && (unsure.has(id) || covered.some(({ once }) => id in once)),
  );
  say(`${left.length} mutants to be tried with whole files`);
  vitest.config.bail = 1;
  for (const [index, { id, file: source }] of left.entries()) {
    const meets = ({ perTest }: Covered) =>
      Object.values(perTest).reduce(
        (sum, met) => sum + Object.keys(met).filter((each) => sourceOf.get(each) === source).length,
        0,
      );
    const files = covered
      .filter(({ once, perTest }) => id in once || Object.values(perTest).some((met) => id in met))
      .map((each) => ({ file: each.file, meets: meets(each) }))
      .sort((a, b) => b.meets - a.meets)
      .slice(0, filesForWhole);
    await run(
      vitest,
      { kind: 'whole', mutant: id },
      files.map(({ file }) => file),
    );
    if (vitest.state.getFiles().some(({ result }) => result?.state === 'fail'))
      appendFileSync(resultsFile, `killed ${id} whole\n`);
    if (index % 50 === 49) say(`${index + 1} of ${left.length}`);
  }
}

const read = (what = 'killed'): Set<string> =>
  new Set(
    readFileSync(resultsFile, 'utf8')
      .split('\n')
      .filter((line) => line.startsWith(`${what} `))
      .map((line) => line.split(' ')[1] ?? ''),
  );

await main();
