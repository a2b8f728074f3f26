import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * The folder of package.json: the repository, or the installed package, in which this file is in `dist/esm` or
 * `dist/cjs`.
 */
export const packageRoot = rootAbove(import.meta.dirname);

export const ownPackage: { readonly version: string } = read(packageRoot);

/**
 * The nearest folder above with a package.json that has a name. Those in `dist` have none: they only set the module
 * type.
 */
function rootAbove(folder: string): string {
  return read(folder).name === undefined ? rootAbove(dirname(folder)) : folder;
}

function read(folder: string) {
  const file = join(folder, 'package.json');
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
}
