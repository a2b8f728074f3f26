import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { build, type Metafile } from 'esbuild';

export interface BundledPage {
  /** Each file with its path on the server. */
  readonly files: readonly (readonly [string, Uint8Array])[];
  /** Which packages are in it. */
  readonly metafile: Metafile;
}

const repository = join(import.meta.dirname, '../..');
const folder = join(import.meta.dirname, 'page');

/** Bundles the page's script and styles with their libraries. */
export async function bundlePage(): Promise<BundledPage> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: repository,
    entryPoints: ['app.ts', 'app.css'].map((name) => join(folder, name)),
    bundle: true,
    outdir: folder,
    write: false,
    metafile: true,
    format: 'esm',
    target: 'es2022',
    minify: true,
    legalComments: 'none',
    logLevel: 'warning',
  });
  const bundled = outputFiles.map(({ path, contents }) => [`/${basename(path)}`, contents] as const);
  const others = ['index.html', 'icon.svg'].map(
    async (name) => [`/${name}`, await readFile(join(folder, name))] as const,
  );
  return { files: [...(await Promise.all(others)), ...bundled], metafile };
}
