/** Chaos test of the embedded bridge in its normal form: real processes, a real disk, real HTTP, and SIGKILL. */

import { freshSeed, optionsOrExit, partsOf, valuesOf, wholeNumber } from '../helpers/options.ts';
import type { Options } from './bridge.ts';
import type { Verdict } from './check-bridge.ts';
import { runFullDisk } from './full-disk.ts';
import { runKills } from './kills.ts';
import { runLockedState } from './locked-state.ts';

const runs: Readonly<Record<string, (options: Options) => Promise<Verdict>>> = {
  kills: runKills,
  disk: runFullDisk,
  lock: runLockedState,
};

const usage = `Usage: npm run chaos -- [options]

Kills the embedded bridge again and again while adverts change, fills its disk, locks its state; then checks that every
subscriber's history is right and that nothing was lost.

  --kills N     how many times it is killed with SIGKILL (200)
  --changes N   how many changes are made meanwhile (5000)
  --seed S      decides changes, faults and moments; what the machine makes of them differs a little (default: fresh)
  --only PARTS  some of ${Object.keys(runs).join(', ')}, separated by commas (default: all)
  --help        this text

Exit codes: 0 all right, 1 not, 2 usage.
`;

const text = { type: 'string' } as const;
const options = optionsOrExit((args) => {
  const known = { kills: text, changes: text, seed: text, only: text, help: { type: 'boolean' } } as const;
  const values = valuesOf(args, known);
  return {
    kills: wholeNumber('kills', values.kills) ?? 200,
    changes: wholeNumber('changes', values.changes) ?? 5_000,
    seed: wholeNumber('seed', values.seed) ?? freshSeed(),
    parts: partsOf(Object.keys(runs), values.only),
    isHelp: values.help ?? false,
  };
}, usage);

const { kills, changes, seed, parts } = options;
const maxShown = 10;
console.error(`chaos: seed ${seed}`);
for (const part of parts) {
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
