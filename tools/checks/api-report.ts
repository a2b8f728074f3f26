/**
 * Writes the public API of each entry point of the package into a report: tools/api/NAME.api.md. A changed report is a
 * changed public API, and is reviewed as such.
 *
 *     npm run api-report                writes the reports
 *     npm run api-report -- --check     writes nothing; fails when a report is out of date
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const { values: options } = parseArgs({ options: { check: { type: 'boolean' } } });
const repository = join(import.meta.dirname, '../..');
const inRepository = (path: string) => join(repository, path);
// Below package.json, because API Extractor looks for the package in the folders above its configuration.
const work = inRepository('dist/api-report');
const entryPoints = {
  contract: 'shared/contract/index.ts',
  subscriber: 'kits/typescript/index.ts',
  testing: 'kits/typescript/testing/index.ts',
  cdk: 'infra/cdk.ts',
};

/** @returns whether the program exited with 0 */
function run(program: string, ...args: string[]): boolean {
  const { status } = spawnSync(process.execPath, [inRepository(`node_modules/${program}`), ...args], {
    cwd: repository,
    stdio: 'inherit',
  });
  return status === 0;
}

function report(name: string, entryPoint: string): boolean {
  const configuration = join(work, `${name}.json`);
  const silent = { default: { logLevel: 'none' } };
  writeFileSync(
    configuration,
    JSON.stringify({
      projectFolder: repository,
      mainEntryPointFilePath: join(work, entryPoint.replace(/\.ts$/, '.d.ts')),
      compiler: { tsconfigFilePath: inRepository('tools/release/tsconfig.package.json') },
      apiReport: {
        enabled: true,
        // Includes types that are part of a signature but not exported themselves.
        includeForgottenExports: true,
        reportFileName: `${name}.api.md`,
        reportFolder: inRepository('tools/api'),
        reportTempFolder: work,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      newlineKind: 'lf',
      messages: { extractorMessageReporting: silent, tsdocMessageReporting: silent },
    }),
  );
  return run(
    '@microsoft/api-extractor/bin/api-extractor',
    ...['run', ...(options.check ? [] : ['--local']), '--config', configuration],
  );
}

rmSync(work, { recursive: true, force: true });
mkdirSync(work, { recursive: true });
mkdirSync(inRepository('tools/api'), { recursive: true });
const hasTypes = run(
  'typescript/bin/tsc',
  ...['-p', 'tools/release/tsconfig.package.json', '--emitDeclarationOnly', '--outDir', work],
);
const reported = Object.entries(entryPoints).map(
  ([name, entryPoint]) => hasTypes && report(name, entryPoint),
);
if (reported.includes(false)) {
  console.error(
    'The public API is not what tools/api/*.api.md says. Review the change, then run: npm run api-report',
  );
  process.exitCode = 1;
}
rmSync(work, { recursive: true, force: true });
