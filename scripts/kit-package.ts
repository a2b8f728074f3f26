import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The subscriber's kit as a package of its own (docs/decisions/0026-packages.md). Made by the build, never committed. */
export const kitName = 'advert-bridge-kit';
export const kitFolder = 'dist/kit';

/** What stands beside the compiled modules in {@link kitFolder}: the manifest, taken from that of the whole package, and its pages. */
export function writeKitPackage(repository: string): void {
  const whole = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'));
  const { version, license, repository: source, type, engines, sideEffects } = whole;
  const { dependencies, peerDependencies, peerDependenciesMeta } = whole;
  // The same entry points, with the one for CDK apps that has nothing of the bridge itself.
  const inKit = (paths: object) =>
    JSON.parse(
      JSON.stringify(paths, (key, value) => (key === 'advert-bridge-source' ? undefined : value))
        .replaceAll('dist/', '')
        .replaceAll(/infra\/cdk(\.d\.ts|\.ts|\.js)/g, 'infra/constructs/subscription/index$1'),
    );
  const manifest = {
    name: kitName,
    version,
    description:
      'What subscribers of Advert Bridge need: handlers, the contract, fixtures for tests, a CDK construct',
    license,
    repository: source,
    type,
    engines,
    sideEffects,
    exports: inKit(whole.exports),
    typesVersions: inKit(whole.typesVersions),
    dependencies,
    peerDependencies,
    peerDependenciesMeta,
  };
  const kit = join(repository, kitFolder);
  writeFileSync(join(kit, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  copyFileSync(join(repository, 'kits/typescript/README.md'), join(kit, 'README.md'));
  copyFileSync(join(repository, 'LICENSE'), join(kit, 'LICENSE'));
}
