/**
 * `npm run bench [-- NAME …]`: speed, memory and bundle sizes of the bridge, each beside a yardstick that runs in the
 * same minute. Exits with 1 when a figure misses its target.
 */
import { cpus } from 'node:os';
import { bundles } from './bundles.ts';
import { memory } from './memory.ts';
import { throughput } from './throughput.ts';

export interface Figure {
  readonly what: string;
  readonly value: string;
  readonly target: string;
  readonly met: boolean;
}

const benches: Record<string, () => Promise<Figure[]>> = { bundles, throughput, memory };

const names = process.argv.slice(2).filter((argument) => argument !== '--');
if (names.includes('--help')) {
  process.stderr.write(`npm run bench [-- ${Object.keys(benches).join(' | ')}]\n`);
  process.exit(0);
}
const unknown = names.filter((name) => !(name in benches));
if (unknown.length > 0) {
  process.stderr.write(
    `unknown bench: ${unknown.join(', ')}; there are: ${Object.keys(benches).join(', ')}\n`,
  );
  process.exit(2);
}

process.stderr.write(`${cpus().length} × ${cpus()[0]?.model ?? 'unknown CPU'}, Node ${process.version}\n`);
for (const [name, bench] of Object.entries(benches)) {
  if (names.length > 0 && !names.includes(name)) continue;
  for (const { what, value, target, met } of await bench()) {
    process.stdout.write(`${met ? 'ok  ' : 'MISS'}  ${name}: ${what}: ${value} (target: ${target})\n`);
    if (!met) process.exitCode = 1;
  }
}
