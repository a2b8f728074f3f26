import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';

export interface BundledPackage {
  /** Path relative to the repository. */
  readonly folder: string;
  readonly name: string;
  readonly version: string;
  readonly license?: string;
}

/** The npm packages in a bundle of esbuild, by folder, because a package may occur in two versions. */
export function bundledPackages(
  { outputs }: Pick<Metafile, 'outputs'>,
  repository: string,
): BundledPackage[] {
  const files = Object.values(outputs).flatMap(({ inputs }) => Object.keys(inputs));
  const folders = files.flatMap((file) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []);
  return [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = JSON.parse(
      readFileSync(join(repository, folder, 'package.json'), 'utf8'),
    );
    return { folder, name, version, license };
  });
}
