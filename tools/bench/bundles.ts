import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { synthesized } from '../../test/helpers/synthesized.ts';
import { stages, writeHandler } from '../release/bundle-handlers.ts';
import { maxKb } from '../release/size-budgets.ts';
import { type Bench, median } from './report.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const maxRatio = 1.3;

/** The handler to compare with: one SDK client, bundled and minified, without further optimizations. */
const bareHandler = `
import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
const client = new DynamoDBClient({});
export const handler = async ({ id }) =>
  (await client.send(new GetItemCommand({ TableName: 'table', Key: { pk: { S: id } } }))).Item;
`;

/** Loads a module, and prints the CPU time that this took, in ms. */
const loader = `
const cpu = process.cpuUsage();
await import(process.argv[2]);
const { user, system } = process.cpuUsage(cpu);
process.stdout.write(String((user + system) / 1000));
process.exit(0);
`;

/** What the template gives the functions, merged into one; a value known only after deployment becomes an address. */
function environment(): Record<string, string> {
  const functions = synthesized().ofType('AWS::Lambda::Function');
  const variables = functions.flatMap(([, { Properties }]) =>
    Object.entries(Properties.Environment?.Variables ?? {}),
  );
  const values = variables.map(([name, value]) => {
    return [name, typeof value === 'string' ? value : 'https://aws.example/name'];
  });
  const credentials = { AWS_ACCESS_KEY_ID: '000000000000', AWS_SECRET_ACCESS_KEY: 'test' };
  return { ...Object.fromEntries(values), AWS_REGION: 'us-east-1', ...credentials };
}

export const bundles: Bench = {
  does: 'size of each Lambda bundle, and its loading time compared with a minimal handler with one SDK client',
  async run({ rounds, isShort, progress }) {
    const loads = isShort ? 5 : 15;
    const scratch = mkdtempSync(path.join(tmpdir(), 'advert-bridge-bundles-'));
    try {
      const load = path.join(scratch, 'load.mjs');
      writeFileSync(load, loader);
      const bare = path.join(scratch, 'bare.mjs');
      await build({
        stdin: { contents: bareHandler, resolveDir: root },
        bundle: true,
        minify: true,
        platform: 'node',
        target: 'node24',
        format: 'esm',
        mainFields: ['module', 'main'],
        outfile: bare,
      });
      for (const stage of stages) await writeHandler(stage, path.join(scratch, stage));
      const files = new Map(stages.map((stage) => [stage, path.join(scratch, stage, 'index.mjs')]));
      const env = { ...process.env, ...environment() };
      const loadingMs = (file: string) => Number(execFileSync(process.execPath, [load, file], { env }));

      const ratios = new Map(stages.map((stage) => [stage, [] as number[]]));
      const bareMs: number[] = [];
      for (let round = 1; round <= rounds; round += 1) {
        const taken = new Map([bare, ...files.values()].map((file) => [file, [] as number[]]));
        // Interleaved, so that other load on the machine affects all of them.
        for (let count = 0; count < loads; count += 1)
          for (const [file, all] of taken) all.push(loadingMs(file));
        bareMs.push(median(taken.get(bare) ?? []));
        for (const [stage, file] of files)
          ratios.get(stage)?.push(median(taken.get(file) ?? []) / (bareMs.at(-1) ?? Number.NaN));
        progress(`round ${round} of ${rounds}: bare ${bareMs.at(-1)?.toFixed(0)} ms of CPU`);
      }
      return [
        ...[...files].map(([stage, file]) => ({
          what: 'size of a bundle',
          at: stage,
          rounds: [readFileSync(file).length / 1000],
          unit: 'KB',
          digits: 0,
          target: { most: maxKb.bundle },
        })),
        ...[...ratios].map(([stage, values]) => ({
          what: 'loading a bundle, relative to a minimal handler',
          at: stage,
          rounds: values,
          unit: 'times',
          target: { most: maxRatio },
        })),
        { what: 'loading the minimal handler', rounds: bareMs, unit: 'ms of CPU', digits: 0 },
      ];
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  },
  notes: [
    'Loading a bundle is compared by CPU time, which other load affects least; clients are created while loading, as in Lambda. What is in a bundle: [decision 6](../decisions/0006-own-code.md).',
  ],
};
