/**
 * `npm run bench [-- NAME …]`: measures what the bridge costs in time, memory and money, and compares each figure with
 * a reference measured at the same time. Without a name it writes docs/contribute/performance.md.
 */
import { parseArgs } from 'node:util';
import { bundles } from './bundles.ts';
import { cost } from './cost.ts';
import { type Bench, isMet, machine, nameOf, shownTarget, shownValue, writePage } from './report.ts';
import { throughput } from './throughput.ts';

const benches: Readonly<Record<string, Bench>> = { throughput, cost, bundles };

const usage = `npm run bench [-- NAME … [--rounds N] [--short]]

${Object.entries(benches)
  .map(([name, { does }]) => `  ${name.padEnd(12)} ${does}`)
  .join('\n')}

  --rounds N   how often each measurement is repeated, the compared programs in turn (default 3)
  --short      less work: shows that it runs; the figures mean little

Without a name it runs all of them, and writes docs/contribute/performance.md unless it is short. Exits with 0 when every
target is met, 1 when one is missed, 2 when it was called wrongly.
`;

function parsed() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        rounds: { type: 'string', default: '3' },
        short: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    const rounds = Number(values.rounds);
    const unknown = positionals.filter((name) => !(name in benches));
    if (unknown.length > 0) throw new Error(`there is no bench ${unknown.join(', ')}`);
    if (!Number.isInteger(rounds) || rounds < 1) throw new Error('--rounds: expected a whole number from 1');
    return { ...values, rounds, names: positionals };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n\n${usage}`);
    return process.exit(2);
  }
}

const { rounds, short: isShort, help, names } = parsed();
if (help) {
  process.stdout.write(usage);
  process.exit(0);
}

process.stderr.write(`${machine()}\n`);
const chosen = Object.entries(benches).filter(([name]) => names.length === 0 || names.includes(name));
const results = [];
for (const [name, bench] of chosen) {
  process.stderr.write(`${name}: ${bench.does}\n`);
  const progress = (text: string) => process.stderr.write(`  ${text}\n`);
  const figures = await bench.run({ rounds, isShort, progress });
  results.push({ bench, figures });
  for (const figure of figures) {
    const met = isMet(figure);
    const verdict = met === undefined ? '    ' : met ? 'ok  ' : 'MISS';
    const target = figure.target ? ` (target: ${shownTarget(figure)})` : '';
    process.stdout.write(`${verdict}  ${nameOf(figure)}: ${shownValue(figure)}${target}\n`);
    if (met === false) process.exitCode = 1;
  }
}
if (names.length === 0 && !isShort) writePage(results);
