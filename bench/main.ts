/**
 * `npm run bench [-- NAME …]`: measures what the bridge costs in time, memory, requests and money, and compares each
 * figure with a reference measured at the same time. Writes bench/results/NAME.json and
 * docs/contribute/performance.md.
 */
import { parseArgs } from 'node:util';
import { bundles } from './bundles.ts';
import { coldStart } from './cold-start.ts';
import { cost } from './cost.ts';
import { growth } from './growth.ts';
import { idlePoll } from './idle-poll.ts';
import { latency } from './latency.ts';
import { queue } from './queue.ts';
import { writePage } from './report/page.ts';
import { type Bench, isMet, shownTarget, shownValue } from './report/report.ts';
import { machine, store, stored } from './report/results.ts';
import { requests } from './requests.ts';
import { throughput } from './throughput.ts';

const benches: Readonly<Record<string, Bench>> = {
  bundles,
  'cold-start': coldStart,
  cost,
  requests,
  queue,
  throughput,
  latency,
  'idle-poll': idlePoll,
  growth,
};

const usage = `npm run bench [-- NAME … [--rounds N] [--short] [--no-page]]

${Object.entries(benches)
  .map(([name, { does }]) => `  ${name.padEnd(12)} ${does}`)
  .join('\n')}

  --rounds N   how often each measurement is repeated, the compared programs in turn (default 3)
  --short      less work: shows that it runs, and is marked so
  --no-page    leaves bench/results and docs/contribute/performance.md as they are

  npm run bench                              all of them; about half an hour
  npm run bench -- cost requests             what it costs, in calls and money
  npm run bench -- throughput --rounds 5     one of them, more exactly

Exits with 0 when every target is met, 1 when one is missed, 2 when it was called wrongly.
`;

function parsed() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        rounds: { type: 'string', default: '3' },
        short: { type: 'boolean', default: false },
        'no-page': { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    const rounds = Number(values.rounds);
    const unknown = positionals.filter((name) => !(name in benches));
    if (unknown.length > 0) throw new Error(`there is no bench ${unknown.join(', ')}`);
    if (!Number.isInteger(rounds) || rounds < 1) throw new Error('--rounds: expected a whole number from 1');
    return { ...values, rounds, names: positionals.length > 0 ? positionals : Object.keys(benches) };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n\n${usage}`);
    return process.exit(2);
  }
}

const { rounds, short: isShort, 'no-page': keepsPage, help, names } = parsed();
if (help) {
  process.stdout.write(usage);
  process.exit(0);
}

process.stderr.write(`${machine()}\n`);
for (const name of names) {
  const { does, run } = benches[name] as Bench;
  process.stderr.write(`${name}: ${does}\n`);
  const progress = (text: string) => process.stderr.write(`  ${text}\n`);
  const report = await run({ rounds, isShort, progress });
  for (const figure of report.figures) {
    const met = isMet(figure);
    const verdict = met === undefined ? '    ' : met ? 'ok  ' : 'MISS';
    const target = figure.target ? ` (target: ${shownTarget(figure)})` : '';
    process.stdout.write(`${verdict}  ${name}: ${figure.what}: ${shownValue(figure)}${target}\n`);
    if (met === false) process.exitCode = 1;
  }
  if (keepsPage) continue;
  store({
    bench: name,
    does,
    date: new Date().toISOString().slice(0, 10),
    machine: machine(),
    isShort,
    ...report,
  });
  writePage(stored());
}
