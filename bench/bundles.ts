import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Metafile } from 'esbuild';
import { bundleHandler } from '../scripts/bundle-handlers.ts';
import type { Bench, Figure, Table } from './report/report.ts';

const maxKb = 450;
const root = fileURLToPath(new URL('..', import.meta.url));
const stages = ['drain', 'fan-out', 'refresh-token'] as const;
export type Stage = (typeof stages)[number];
/** Parts smaller than this, in bytes, are combined into one row. */
const minShown = 4_000;

/**
 * Calls `work` with the bundles that `cdk synth` creates, by stage, and deletes them afterwards.
 *
 * @param work also receives the environment that the template gives the functions, merged into one; a value known
 * only after deployment (a name, an address) is replaced by an address
 * @returns the result of `work`
 */
export async function withBundles<T>(
  work: (files: Readonly<Record<Stage, string>>, environment: Readonly<Record<string, string>>) => T,
): Promise<Awaited<T>> {
  const out = mkdtempSync(path.join(tmpdir(), 'advert-bridge-synth-'));
  try {
    const cdk = path.join(root, 'node_modules/aws-cdk/bin/cdk');
    const settings = ['-c', 'partnerBaseUrl=https://partner.example'];
    execFileSync(process.execPath, [cdk, 'synth', '--quiet', '--output', out, ...settings], {
      cwd: root,
      stdio: ['ignore', 'ignore', 'pipe'], // Its output is part of the error, if there is one.
      env: { ...process.env, CDK_DISABLE_CLI_TELEMETRY: 'true' },
    });
    const files = globSync(`${out}/asset.*/index.mjs`);
    const named = stages.map((stage) => {
      const sourceOf = (file: string) =>
        readFileSync(`${file}.map`, 'utf8').includes(`functions/${stage}/handler.ts`);
      const found = files.filter(sourceOf);
      if (found.length !== 1) throw new Error(`${found.length} bundles of ${stage} in ${out}`);
      return [stage, found[0]] as const;
    });
    return await work(Object.fromEntries(named) as Record<Stage, string>, environmentIn(out));
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

interface Template {
  readonly Resources: Readonly<
    Record<string, { readonly Properties?: { readonly Environment?: Environment } }>
  >;
}
interface Environment {
  readonly Variables: Readonly<Record<string, unknown>>;
}

function environmentIn(folder: string): Record<string, string> {
  const templates = globSync(`${folder}/*.template.json`).map(
    (file) => JSON.parse(readFileSync(file, 'utf8')) as Template,
  );
  const variables = templates.flatMap(({ Resources }) =>
    Object.values(Resources).flatMap(({ Properties }) =>
      Object.entries(Properties?.Environment?.Variables ?? {}),
    ),
  );
  return Object.fromEntries(
    variables.map(([name, value]) => [name, typeof value === 'string' ? value : 'https://aws.example/name']),
  );
}

/** Bytes of each package in a bundle of scripts/bundle-handlers.ts. */
async function contents(stage: Stage): Promise<Map<string, number>> {
  const { metafile } = await bundleHandler(stage);
  return partsOf(metafile);
}

function partsOf(metafile: Metafile): Map<string, number> {
  const parts = new Map<string, number>();
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs));
  for (const [file, { bytesInOutput }] of inputs) {
    const packages = [...file.matchAll(/node_modules\/((?:@[^/]+\/)?[^/]+)/g)];
    const part = packages.at(-1)?.[1] ?? 'this repository';
    parts.set(part, (parts.get(part) ?? 0) + bytesInOutput);
  }
  return parts;
}

export const bundles: Bench = {
  does: 'size and contents of each Lambda bundle',
  async run() {
    const figures = await withBundles((files) =>
      stages.map(
        (stage): Figure => ({
          what: `bundle of ${stage}`,
          rounds: [readFileSync(files[stage]).length / 1000],
          unit: 'KB',
          digits: 0,
          target: { most: maxKb },
        }),
      ),
    );
    const found = await Promise.all(stages.map(contents));
    const parts = [...new Set(found.flatMap((map) => [...map.keys()]))];
    const largest = (part: string) => Math.max(...found.map((map) => map.get(part) ?? 0));
    const shown = parts.filter((part) => largest(part) >= minShown).sort((a, b) => largest(b) - largest(a));
    const kb = (bytes: number) => (bytes === 0 ? '' : (bytes / 1000).toFixed(0));
    const rest = (map: Map<string, number>) =>
      [...map].reduce((sum, [part, bytes]) => sum + (shown.includes(part) ? 0 : bytes), 0);
    const table: Table = {
      title: 'Contents of the bundles, KB',
      columns: ['part', ...stages],
      rows: [
        ...shown.map((part) => [`\`${part}\``, ...found.map((map) => kb(map.get(part) ?? 0))]),
        ['what is below 4 KB', ...found.map((map) => kb(rest(map)))],
      ],
    };
    return {
      figures,
      tables: [table],
      notes: ['[decisions/0010-bundles.md](../decisions/0010-bundles.md) explains why each part is needed.'],
    };
  },
};
