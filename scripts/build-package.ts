/**
 * Builds what `npm pack` takes into `dist`: the library as JavaScript with types, one file for each module, and the
 * command line as a bundle, for Node runs no TypeScript inside node_modules, with the licences of what is in it and a bill of
 * materials (sbom.ts). `npm pack` runs it by itself.
 *
 *     node scripts/build-package.ts
 */
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, type Metafile } from 'esbuild';
import { bundledPackages } from './bundled-packages.ts';
import { writeSbom } from './sbom.ts';

const repository = join(import.meta.dirname, '..');
const inRepository = (path: string) => join(repository, path);

rmSync(inRepository('dist'), { recursive: true, force: true });
execFileSync(
  process.execPath,
  [inRepository('node_modules/typescript/bin/tsc'), '-p', 'tsconfig.package.json'],
  {
    cwd: repository,
    stdio: 'inherit',
  },
);

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
await writeSbom();

/** The licence of each package that is inside the bundle, as all of them ask for. */
function licensesOf(bundle: Metafile): string {
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
