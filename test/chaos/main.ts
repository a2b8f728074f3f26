/** Chaos test of the embedded bridge in its normal form: real processes, a real disk, real HTTP, and SIGKILL. */

import { checkCommand, namesOf, seedOption, wholeNumber } from '../helpers/options.ts';
import type { Options } from './bridge.ts';
import type { Verdict } from './check-bridge.ts';
import { runFullDisk } from './full-disk.ts';
import { runKills } from './kills.ts';
import { runLockedState } from './locked-state.ts';
import { runRefreshes } from './refreshes.ts';

const runs: Readonly<Record<string, (options: Options) => Promise<Verdict>>> = {
  kills: runKills,
  refreshes: runRefreshes,
  disk: runFullDisk,
  lock: runLockedState,
};

const options = checkCommand(
  'chaos',
  "Kills the embedded bridge again and again while adverts change, fills its disk, locks its state; then checks that every subscriber's history is right and that nothing was lost.",
  '0 all right, 1 not',
)
  .option('--kills <n>', 'how many times it is killed with SIGKILL', wholeNumber(), 200)
  .option('--changes <n>', 'how many changes are made meanwhile', wholeNumber(), 5_000)
  .addOption(
    seedOption('decides changes, faults and moments; what the machine makes of them differs a little'),
  )
  .option(
    '--only <parts>',
    'some of them, separated by commas',
    namesOf(Object.keys(runs)),
    Object.keys(runs),
  )
  .parse()
  .opts<Options & { readonly only: readonly string[] }>();

const { kills, changes, seed, only } = options;
const maxShown = 10;
console.error(`chaos: seed ${seed}`);
for (const part of only) {
  const startedAt = Date.now();
  const { faults, summary } = (await runs[part]?.(options)) ?? { faults: [], summary: '' };
  const seconds = ((Date.now() - startedAt) / 1000).toFixed(1);
  console.log(`${part}: ${faults.length === 0 ? 'ok' : 'FAILED'} in ${seconds} s: ${summary}`);
  if (faults.length === 0) continue;
  process.exitCode = 1;
  for (const fault of faults.slice(0, maxShown)) console.log(`\n${fault}`);
  if (faults.length > maxShown) console.log(`\n… and ${faults.length - maxShown} more`);
  const same = `--kills ${kills} --changes ${changes} --seed ${seed}`;
  console.log(`\nOnce more: npm run chaos -- --only ${part} ${same}`);
}
