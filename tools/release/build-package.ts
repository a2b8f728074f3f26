/**
 * Builds the content of the two packages for `npm pack`, which runs this script.
 *
 * `dist` is the main package. It contains the library as ES modules and as CommonJS, with types, one file per module;
 * the handlers of the functions, for the construct (bundle-handlers.ts); and the command line as a bundle, because
 * Node runs no TypeScript inside node_modules, with the licences of its packages and a bill of materials (sbom.ts).
 * `dist/kit` is the second package, the subscriber's kit (kit-package.ts).
 *
 *     node tools/release/build-package.ts
 */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { build, type Metafile } from 'esbuild';
import { bundlePage } from '../../operators/console/bundle-page.ts';
import { stages, writeHandler } from './bundle-handlers.ts';
import { bundledPackages } from './bundled-packages.ts';
import { kitFolder, writeKitPackage } from './kit-package.ts';
import { writeSbom } from './sbom.ts';

const repository = join(import.meta.dirname, '../..');
const inRepository = (path: string) => join(repository, path);

await compile('tools/release/tsconfig.package.json', 'dist');
const { metafile } = await build({
  absWorkingDir: repository,
  entryPoints: ['operators/cli/main.ts'],
  outfile: 'dist/cli/main.cjs',
  bundle: true,
  // One CommonJS file: ES modules load more slowly, one by one, and an `import` of a Node module evaluates all of its
  // exports. Code that a command does not need stays in the file without being run.
  format: 'cjs',
  platform: 'node',
  target: 'node20',
  conditions: ['advert-bridge-source'],
  // Only in the repository: the package contains the console's page bundled.
  external: ['esbuild'],
  define: { 'import.meta.dirname': '__dirname' },
  minifySyntax: true,
  minifyWhitespace: true,
  metafile: true,
  logLevel: 'warning',
});
const page = await bundlePage();
mkdirSync(inRepository('dist/cli/page'));
for (const [path, content] of page.files) writeFileSync(inRepository(`dist/cli/page${path}`), content);
writeFileSync(
  inRepository('dist/cli/THIRD-PARTY-LICENSES.txt'),
  licensesOf({ outputs: { ...metafile.outputs, ...page.metafile.outputs } }),
);
const handlers: Metafile['outputs'] = {};
for (const stage of stages) {
  Object.assign(handlers, (await writeHandler(stage, inRepository(`dist/handlers/${stage}`))).outputs);
}
// Next to the handlers' folders, because everything inside a handler's folder is deployed.
writeFileSync(inRepository('dist/handlers/THIRD-PARTY-LICENSES.txt'), licensesOf({ outputs: handlers }));
await writeSbom();
await compile('tools/release/tsconfig.kit.json', kitFolder);
writeKitPackage(repository);

/**
 * Compiles `folder`/esm; `folder`/cjs contains the same modules for `require`, at the same depth, so that both find
 * files at the same relative paths.
 */
async function compile(tsconfig: string, folder: string): Promise<void> {
  rmSync(inRepository(folder), { recursive: true, force: true });
  execFileSync(process.execPath, [inRepository('node_modules/typescript/bin/tsc'), '-p', tsconfig], {
    cwd: repository,
    stdio: 'inherit',
  });
  const [esm, cjs] = [join(folder, 'esm'), join(folder, 'cjs')];
  const { warnings } = await build({
    absWorkingDir: repository,
    entryPoints: globSync(join(esm, '**/*.js'), { cwd: repository }),
    outbase: esm,
    outdir: cjs,
    format: 'cjs',
    platform: 'node',
    target: 'node20',
    define: { 'import.meta.dirname': '__dirname', 'import.meta.url': '__filename' },
    logLevel: 'warning',
  });
  if (warnings.length > 0) throw new Error('these modules are not the same as CommonJS');
  cpSync(inRepository(esm), inRepository(cjs), {
    recursive: true,
    filter: (path) => path.endsWith('.d.ts') || statSync(path).isDirectory(),
  });
  // Modules in the repository read package.json from a parent folder; compiled modules find a copy of the fields they
  // need here.
  const { version, repository: source } = JSON.parse(readFileSync(inRepository('package.json'), 'utf8'));
  for (const [place, type] of [
    [esm, 'module'],
    [cjs, 'commonjs'],
  ] as const) {
    writeFileSync(
      inRepository(join(place, 'package.json')),
      `${JSON.stringify({ type, version, repository: source })}\n`,
    );
  }
}

/** The licence of each package inside the bundle, as every one of these licences requires. */
function licensesOf(bundle: Pick<Metafile, 'outputs'>): string {
  return bundledPackages(bundle, repository)
    .map(({ folder, name, version, license }) => {
      const [file] = globSync(inRepository(`${folder}/{LICENSE,LICENCE,license,licence}*`)).filter(
        existsSync,
      );
      const text = file ? readFileSync(file, 'utf8').trim() : `Licence: ${license}`;
      return `${name} ${version}\n\n${text}\n`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);
}
