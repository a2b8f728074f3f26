/**
 * Bundles the handlers of the Lambda functions: one file each, with its source map and the licences of its packages.
 * `cdk synth` runs it in the repository, and the package build (build-package.ts) includes its output. The output has
 * the same bytes in every folder.
 *
 *     node scripts/bundle-handlers.ts STAGE FOLDER
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { build, type Metafile, type Plugin } from 'esbuild';

const repository = join(import.meta.dirname, '..');
export const stages = ['drain', 'fan-out', 'refresh-token', 'connect'] as const;
type Stage = (typeof stages)[number];

/**
 * An AWS client uses only the version from its package.json, for its `User-Agent`: this omits the other 2 KB per
 * client.
 */
const clientVersions: Plugin = {
  name: 'versions of the AWS clients',
  setup({ onLoad }) {
    onLoad({ filter: /@aws-sdk\/client-[^/]+\/package\.json$/ }, ({ path }) => {
      const { version } = JSON.parse(readFileSync(path, 'utf8'));
      return { contents: JSON.stringify({ version }), loader: 'json' };
    });
  },
};

/** @see docs/decisions/0010-bundles.md */
export const bundleHandler = (stage: Stage) =>
  build({
    absWorkingDir: repository,
    entryPoints: [`functions/${stage}/handler.ts`],
    // Not written here; source maps name the sources relative to this path.
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
    sourcemap: true,
    sourcesContent: false,
    // Licences go into a separate file, which is not loaded on every cold start.
    legalComments: 'external',
    alias: {
      // In Lambda, credentials are in the environment: the chain of all other sources is 90 KB that never runs.
      '@aws-sdk/credential-provider-node': './shared/aws/bundling/lambda-credentials.ts',
      // DynamoDB's endpoint discovery is off: its cache is another 7 KB.
      '@aws-sdk/endpoint-cache': './shared/aws/bundling/no-endpoint-cache.ts',
      // No answer is streamed: 15 KB that never run.
      '@smithy/core/event-streams': './shared/aws/bundling/no-event-streams.ts',
    },
    plugins: [clientVersions],
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
