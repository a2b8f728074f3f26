import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { AssetHashType, DockerImage } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { packageRoot } from './own-package.ts';

/** The folder in functions/ that a handler is in. */
export type Stage = 'drain' | 'fan-out' | 'refresh-token' | 'connect' | 'audit';

/** Of the repository alone. */
const bundler = join(packageRoot, 'scripts/bundle-handlers.ts');

/** The bundle of a function: out of the package, where scripts/build-package.ts has put it; in the repository, made of the source. */
export function handlerCode(stage: Stage): Code {
  if (!existsSync(bundler)) return Code.fromAsset(join(packageRoot, 'dist/handlers', stage));
  return Code.fromAsset(packageRoot, {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      // Nothing runs in a container; but what has the same command is taken for the same asset.
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
