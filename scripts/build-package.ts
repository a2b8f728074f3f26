/**
 * Builds what `npm pack` takes. `dist` is the package: the library as ES modules and as CommonJS, with types, one file for each
 * module; the handlers of the functions, for the construct (bundle-handlers.ts); and the command line as a bundle, for Node runs no
 * TypeScript inside node_modules, with the licences of what is in it and a bill of materials (sbom.ts). `dist/kit` is a second
 * package, the subscriber's kit (kit-package.ts). `npm pack` runs it by itself.
 *
 *     node scripts/build-package.ts
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, globSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, type Metafile } from 'esbuild';
import { stages, writeHandler } from './bundle-handlers.ts';
import { bundledPackages } from './bundled-packages.ts';
import { kitFolder, writeKitPackage } from './kit-package.ts';
import { writeSbom } from './sbom.ts';

const repository = join(import.meta.dirname, '..');
const inRepository = (path: string) => join(repository, path);

await compile('tsconfig.package.json', 'dist');
const { metafile } = await build({
  absWorkingDir: repository,
  entryPoints: ['cli/main.ts'],
  outfile: 'dist/cli/main.cjs',
  bundle: true,
  // One file, and not ES modules: those load slower, one by one, and an `import` of a module of Node's reads all that it
  // exports. What a command does not need is in the file and is not run.
  format: 'cjs',
  platform: 'node',
  target: 'node20',
  conditions: ['advert-bridge-source'],
  minifySyntax: true,
  minifyWhitespace: true,
  metafile: true,
  logLevel: 'warning',
});
writeFileSync(inRepository('dist/cli/THIRD-PARTY-LICENSES.txt'), licensesOf(metafile));
const handlers: Metafile['outputs'] = {};
for (const stage of stages) {
  Object.assign(handlers, (await writeHandler(stage, inRepository(`dist/handlers/${stage}`))).outputs);
}
// Beside them: what is in a handler's own folder is deployed.
writeFileSync(inRepository('dist/handlers/THIRD-PARTY-LICENSES.txt'), licensesOf({ outputs: handlers }));
await writeSbom();
await compile('tsconfig.kit.json', kitFolder);
writeKitPackage(repository);

/** `folder`/esm by the compiler; `folder`/cjs is the same modules for `require`, at the same depth, so that both find files alike. */
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
    define: { 'import.meta.dirname': '__dirname' },
    logLevel: 'warning',
  });
  if (warnings.length > 0) throw new Error('these modules are not the same as CommonJS');
  cpSync(inRepository(esm), inRepository(cjs), {
    recursive: true,
    filter: (path) => path.endsWith('.d.ts') || statSync(path).isDirectory(),
  });
  // Where modules in the repository find package.json above them, compiled ones find what they read in it.
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

/** The licence of each package that is inside the bundle, as all of them ask for. */
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
