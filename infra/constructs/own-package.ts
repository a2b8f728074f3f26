import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The folder of package.json: of the repository, or of the installed package, where this file is in `dist/esm` or `dist/cjs`. */
export const packageRoot = rootAbove(import.meta.dirname);

interface OwnPackage {
  readonly version: string;
  readonly repository: { readonly url: string };
}

export const ownPackage: OwnPackage = read(packageRoot);

/** The nearest folder with a package.json that has a name: those of `dist` alone say which kind of modules is below them. */
function rootAbove(folder: string): string {
  return read(folder).name === undefined ? rootAbove(dirname(folder)) : folder;
}

function read(folder: string) {
  const file = join(folder, 'package.json');
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
}
