/** Chaos test of the embedded bridge in its normal form: real processes, a real disk, real HTTP, and SIGKILL. */

import { UsageError } from '../helpers/options.ts';
import type { Verdict } from './check-bridge.ts';
import { runFullDisk } from './full-disk.ts';
import { runKills } from './kills.ts';
import { runLockedState } from './locked-state.ts';
import { type Options, optionsOf, type Part, usage } from './options.ts';
import { createProgress, type Progress } from './progress.ts';

const runs: Record<Part, (options: Options, progress: Progress) => Promise<Verdict>> = {
  kills: runKills,
  disk: runFullDisk,
  lock: runLockedState,
};

const maxShown = 10;

async function main(args: readonly string[]): Promise<number> {
  const options = optionsOf(args);
  if (options.isHelp) {
    process.stdout.write(usage);
    return 0;
  }
  const { kills, changes, seed } = options;
  const progress = createProgress();
  progress.say(`chaos: seed ${seed}`);
  let failed = 0;
  for (const part of options.parts) {
    const startedAt = Date.now();
    const { faults, summary } = await runs[part](options, progress);
    progress.clear();
    const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
    process.stdout.write(`${part}: ${faults.length === 0 ? 'ok' : 'FAILED'} in ${seconds} s: ${summary}\n`);
    for (const fault of faults.slice(0, maxShown)) process.stdout.write(`\n${fault}\n`);
    if (faults.length > maxShown) process.stdout.write(`\n… and ${faults.length - maxShown} more\n`);
    if (faults.length === 0) continue;
    failed += 1;
    process.stdout.write(
      `\nOnce more: npm run chaos -- --only ${part} --kills ${kills} --changes ${changes} --seed ${seed}\n`,
    );
  }
  return failed === 0 ? 0 : 1;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n\n${usage}`);
  process.exitCode = 2;
}
