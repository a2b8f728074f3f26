/**
 * Bundles the handlers of the Lambda functions: one file each, and the licences of its packages.
 * `cdk synth` runs it in the repository, and the package build (build-package.ts) includes its output. The output has
 * the same bytes in every folder.
 *
 *     node tools/release/bundle-handlers.ts STAGE FOLDER
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build, type Metafile } from 'esbuild';

const repository = join(import.meta.dirname, '../..');
export const stages = ['drain', 'fan-out', 'refresh-token', 'connect'] as const;
type Stage = (typeof stages)[number];

/** @see docs/decisions/0006-own-code.md */
export const bundleHandler = (stage: Stage) =>
  build({
    absWorkingDir: repository,
    entryPoints: [`functions/${stage}/handler.ts`],
    // Not written here.
    outfile: `dist/handlers/${stage}/index.mjs`,
    write: false,
    metafile: true,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    mainFields: ['module', 'main'],
    charset: 'utf8',
    minify: true,
    // Licences go into a separate file, which is not loaded on every cold start.
    legalComments: 'external',
    // The one module that is replaced: without it, loading fan-out takes 1.5 times a bare handler's time, not 1.1.
    alias: { '@aws-sdk/credential-provider-node': './shared/aws/bundling/lambda-credentials.ts' },
    logLevel: 'warning',
  });

/** @returns the metadata of the bundle's content */
export async function writeHandler(stage: Stage, folder: string): Promise<Metafile> {
  const { outputFiles, metafile } = await bundleHandler(stage);
  mkdirSync(folder, { recursive: true });
  for (const { path, contents } of outputFiles) writeFileSync(join(folder, basename(path)), contents);
  return metafile;
}

if (import.meta.main) {
  const [stage, folder] = process.argv.slice(2);
  await writeHandler(stage as Stage, folder ?? '');
}
