import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { withBundles } from './bundles.ts';
import { type Bench, median } from './report/report.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const maxRatio = 1.3;

/** The handler to compare with: one SDK client, bundled and minified, without further optimizations. */
const bareHandler = `
import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
const client = new DynamoDBClient({});
export const handler = async ({ id }) =>
  (await client.send(new GetItemCommand({ TableName: 'table', Key: { pk: { S: id } } }))).Item;
`;

/** Loads a module, and prints the time and the CPU time that this took, in ms. */
const loader = `
const begun = performance.now();
const cpu = process.cpuUsage();
await import(process.argv[2]);
const { user, system } = process.cpuUsage(cpu);
process.stdout.write(JSON.stringify({ ms: performance.now() - begun, cpuMs: (user + system) / 1000 }));
process.exit(0);
`;

/** Variables that Lambda sets and the template does not contain. */
const lambdaEnvironment = {
  AWS_REGION: 'us-east-1',
  AWS_ACCESS_KEY_ID: '000000000000',
  AWS_SECRET_ACCESS_KEY: 'test',
};

export const coldStart: Bench = {
  does: 'time to load each Lambda bundle in a new process, compared with a minimal handler with one SDK client',
  async run({ rounds, isShort, progress }) {
    const loads = isShort ? 5 : 15;
    const scratch = mkdtempSync(path.join(tmpdir(), 'advert-bridge-load-'));
    try {
      const bare = path.join(scratch, 'bare.mjs');
      writeFileSync(path.join(scratch, 'load.mjs'), loader);
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
      return await withBundles((bundles, environment) => {
        const files: Record<string, string> = { bare, ...bundles };
        const ratios: Record<string, number[]> = {};
        const milliseconds: Record<string, number[]> = {};
        for (let round = 1; round <= rounds; round += 1) {
          const taken: Record<string, number[]> = {};
          // Interleaved, so that other load on the machine affects all of them.
          for (let load = 0; load < loads; load += 1) {
            for (const [name, file] of Object.entries(files)) {
              const args = [path.join(scratch, 'load.mjs'), file];
              const told = execFileSync(process.execPath, args, {
                env: { ...process.env, ...environment, ...lambdaEnvironment },
              });
              const { cpuMs } = JSON.parse(told.toString()) as { cpuMs: number };
              taken[name] = [...(taken[name] ?? []), cpuMs];
            }
          }
          for (const name of Object.keys(files)) {
            const one = median(taken[name] ?? []);
            milliseconds[name] = [...(milliseconds[name] ?? []), one];
            if (name !== 'bare') ratios[name] = [...(ratios[name] ?? []), one / median(taken.bare ?? [])];
          }
          progress(`round ${round} of ${rounds}: bare ${milliseconds.bare?.at(-1)?.toFixed(0)} ms of CPU`);
        }
        return {
          figures: Object.entries(ratios).map(([name, values]) => ({
            what: `loading ${name}, relative to a minimal handler`,
            rounds: values,
            unit: 'times',
            target: { most: maxRatio },
          })),
          tables: [
            {
              title: 'CPU time of loading a bundle, ms',
              columns: ['bundle', 'median of all rounds'],
              rows: Object.entries(milliseconds).map(([name, values]) => [name, median(values).toFixed(0)]),
            },
          ],
          notes: [
            'Loading uses only CPU, so the bench compares CPU time, which other load on the machine affects least. Clients are created while loading, as in Lambda; they connect with their first call.',
          ],
        };
      });
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  },
};
