import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AssetHashType, DockerImage } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';
import type catalogue from '../../shared/findings/problems.json';

/**
 * The repository, or the installed package, in which this file is in `dist/esm` or `dist/cjs`. Jest 29 knows only the
 * address of an ES module.
 */
export const packageRoot = rootAbove(import.meta.dirname ?? dirname(fileURLToPath(import.meta.url)));

/** Not imported, because a module that imports JSON prints a warning before Node 20.18.3 and 22.12. */
export const problems: typeof catalogue = JSON.parse(
  readFileSync(join(packageRoot, 'shared/findings/problems.json'), 'utf8'),
);

export const ownPackage: { readonly version: string } = read(packageRoot);

/** The files package.json in `dist` have no name: they only set the module type. */
function rootAbove(folder: string): string {
  return read(folder).name === undefined ? rootAbove(dirname(folder)) : folder;
}

function read(folder: string) {
  const file = join(folder, 'package.json');
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
}

/** The handler's folder in functions/. */
export const stageOf = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** Exists only in the repository, not in the package. */
const bundler = join(packageRoot, 'tools/release/bundle-handlers.ts');

/** In the package, tools/release/build-package.ts has created it; in the repository, it is built from the source. */
export function handlerCode(stage: string): Code {
  if (!existsSync(bundler)) return Code.fromAsset(join(packageRoot, 'dist/handlers', stage));
  return Code.fromAsset(packageRoot, {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      // Nothing runs in a container, but CDK treats assets with the same command as the same asset.
      image: DockerImage.fromRegistry('none'),
      command: [bundler, stage],
      local: {
        tryBundle(folder) {
          const { status } = spawnSync(process.execPath, [bundler, stage, folder], { stdio: 'inherit' });
          if (status !== 0) throw new Error(`functions/${stage}/handler.ts could not be bundled`);
          return true;
        },
      },
    },
  });
}
