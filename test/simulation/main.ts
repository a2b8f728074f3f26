/** `npm run simulate`: runs seeds, and prints the story of the first one that fails. */

import { addCounts, coverageTable, missingOf } from './model/coverage.ts';
import { optionsOf } from './options.ts';
import { type PlantedFault, plant } from './planted/planted.ts';
import { inJobs, isJob, report } from './run/jobs.ts';

const { from, count, world, jobs, planted, isSingle, isTraced, isCounted } = optionsOf();
const say = (text: string) => process.stdout.write(`${text}\n`);

/** Overwrites one line on a terminal. Without a terminal, prints only lines meant for a log. */
function progress(text: string, isLogged = false): void {
  if (process.stderr.isTTY) process.stderr.write(`\r${text}\x1b[K`);
  else if (isLogged) process.stderr.write(`${text}\n`);
}

const startedAt = performance.now();
const counts = new Map<string, number>();
let done = 0;
const perMinute = () => Math.round(done / ((performance.now() - startedAt) / 60_000));

/** Adds up what was run, here or in other processes. */
function add(coverage: Iterable<readonly [string, number]>): void {
  if (isJob) return void report([...coverage]);
  done += 1;
  addCounts(counts, coverage);
  if (done % 100 === 0) progress(`${done} of ${count} seeds, ${perMinute()} a minute`, done % 1_000 === 0);
}

/** @returns the exit code */
function printTotal(): number {
  if (isJob) return 0;
  progress('');
  if (isCounted) say(`${coverageTable(counts)}\n`);
  const range = count === 1 ? `seed ${from}` : `seeds ${from} to ${from + count - 1}`;
  const missing = isCounted ? missingOf(counts) : [];
  say(`${range}: nothing violated, ${perMinute()} seeds a minute`);
  if (missing.length > 0) say(`Never occurred, so nothing was shown of it: ${missing.join('; ')}`);
  return missing.length > 0 ? 1 : 0;
}

const ofWorld = world === undefined ? [] : ['--world', world];

async function runSeeds(): Promise<number> {
  // Only now, so that a planted fault is in them.
  const { simulate } = await import('./run/simulate.ts');
  for (let seed = from; seed < from + count; seed += 1) {
    const run = await simulate(seed, { world });
    if (run.violations.length > 0) {
      progress('');
      const { storyOf } = await import('./run/story.ts');
      const { shrink } = await import('./run/shrink.ts');
      const ofFault = planted.flatMap(({ name }) => ['--planted', name]);
      const command = ['npm run simulate -- --seed', seed, ...ofWorld, ...ofFault].join(' ');
      say(storyOf(await shrink(run, { world }), { isWhole: isTraced, command }));
      return 1;
    }
    add(run.coverage);
  }
  if (isTraced) say((await simulate(from, { world, isTraced })).lines.join('\n'));
  return printTotal();
}

function runSeedsInJobs(): Promise<number> {
  const length = Math.min(jobs, count);
  const startOf = (job: number) => from + Math.floor((count * job) / length);
  const parts = Array.from({ length }, (_, job) => [
    ...['--from', `${startOf(job)}`, '--seeds', `${startOf(job + 1) - startOf(job)}`],
    ...ofWorld,
  ]);
  return inJobs<[string, number][]>(parts, jobs, add).then((code) => code || printTotal());
}

/** Runs seeds until one finds the fault. */
async function findPlanted({ name }: PlantedFault): Promise<number> {
  const { simulate } = await import('./run/simulate.ts');
  for (let seed = from; seed < from + count; seed += 1) {
    const [violation] = (await simulate(seed, { world })).violations;
    if (!violation) continue;
    const found = `${String(seed - from + 1).padStart(5)} seeds  ${violation.invariant.padEnd(21)}`;
    say(`${name.padEnd(38)} ${found}  ${violation.message}`);
    return 0;
  }
  say(`${name.padEnd(38)} NOT FOUND`);
  return 1;
}

function run(): Promise<number> {
  const [fault, ...others] = planted;
  if (fault && others.length > 0) {
    // A process for each, because a source can be changed only before it is imported.
    const common = ['--from', `${from}`, '--seeds', `${count}`, ...ofWorld];
    return inJobs(
      planted.map(({ name }) => [...common, '--planted', name]),
      jobs,
    );
  }
  if (fault) plant(fault);
  // A story shows the stack of an error; otherwise, creating stacks takes a tenth of the time.
  if (!isSingle) Error.stackTraceLimit = 0;
  if (fault && !isSingle) return findPlanted(fault);
  return jobs > 1 ? runSeedsInJobs() : runSeeds();
}

process.exitCode = await run();
