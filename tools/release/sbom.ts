/**
 * Creates the software bill of materials: every npm package whose code this repository ships, as CycloneDX JSON in
 * `dist/sbom.cdx.json`. `npm sbom` lists the packages of package-lock.json, with hashes and licences; the bundles
 * show which of them are shipped. The package build creates it (build-package.ts); it is never committed. Needs no
 * network.
 *
 *     npm run sbom
 *
 * @see https://cyclonedx.org/docs/1.5/json/
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { build, type Metafile } from 'esbuild';
import { bundlePage } from '../../operators/console/bundle-page.ts';
import { bundleHandler, stages } from './bundle-handlers.ts';
import { bundledPackages } from './bundled-packages.ts';

const repository = join(import.meta.dirname, '../..');
export const sbomFile = 'dist/sbom.cdx.json';

interface Component {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
}

interface Sbom {
  readonly metadata: { readonly component: Component };
  readonly components: readonly (Component & { readonly properties?: readonly unknown[] })[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

/**
 * Where a package is shipped: in the command line's file, in the Lambda functions, or installed as a dependency by
 * npm.
 */
type Place = 'command line' | 'functions' | 'dependency';

/** `name@version` of the packages in the command line's bundle. */
async function inCommandLine(): Promise<string[]> {
  const { metafile } = await build({
    absWorkingDir: repository,
    entryPoints: ['operators/cli/main.ts'],
    bundle: true,
    platform: 'node',
    format: 'esm',
    mainFields: ['module', 'main'],
    conditions: ['advert-bridge-source'],
    treeShaking: true,
    metafile: true,
    external: ['esbuild'],
    write: false,
    outdir: 'out',
    logLevel: 'error',
  });
  const page = await bundlePage();
  return [...namesIn(metafile), ...namesIn(page.metafile)];
}

const namesIn = (metafile: Metafile): string[] =>
  bundledPackages(metafile, repository).map(({ name, version }) => `${name}@${version}`);

async function shippedPackages(): Promise<ReadonlyMap<string, readonly Place[]>> {
  const { dependencies } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'));
  const functions = await Promise.all(stages.map(bundleHandler));
  const shipped: readonly (readonly [Place, readonly string[]])[] = [
    ['command line', await inCommandLine()],
    ['functions', functions.flatMap(({ metafile }) => namesIn(metafile))],
    ['dependency', Object.entries(dependencies).map(([name, version]) => `${name}@${version}`)],
  ];
  const places = new Map<string, Place[]>();
  for (const [place, packages] of shipped) {
    for (const each of packages) places.set(each, [...(places.get(each) ?? []), place]);
  }
  return places;
}

/** Writes the bill of materials. @throws when a shipped package is missing from package-lock.json */
export async function writeSbom(): Promise<void> {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only', '--offline'];
  const listed: Sbom = JSON.parse(
    execFileSync('npm', args, { cwd: repository, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }),
  );
  const shipped = await shippedPackages();
  const components = listed.components.flatMap((component) => {
    const places = shipped.get(component['bom-ref']);
    if (!places) return [];
    // npm's own properties describe how this repository uses the package; users need to know where it is shipped.
    const properties = places.map((value) => ({ name: 'advert-bridge:in', value }));
    return [{ ...component, scope: 'required', properties }];
  });
  const listedRefs = new Set(components.map((component) => component['bom-ref']));
  const unlisted = [...shipped.keys()].filter((ref) => !listedRefs.has(ref));
  if (unlisted.length > 0) throw new Error(`not in package-lock.json: ${unlisted.join(', ')}`);
  const own = listed.metadata.component;
  // npm uses the folder's name.
  const component = { ...own, name: own['bom-ref'].replace(/@[^@]+$/, '') };
  const sbom = {
    ...listed,
    metadata: { ...listed.metadata, component },
    components,
    dependencies: listed.dependencies
      .filter(({ ref }) => ref === own['bom-ref'] || listedRefs.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => listedRefs.has(each)) })),
  };
  mkdirSync(dirname(join(repository, sbomFile)), { recursive: true });
  writeFileSync(join(repository, sbomFile), `${JSON.stringify(sbom, null, 1)}\n`);
}

if (import.meta.main) {
  await writeSbom();
  process.stderr.write(`${sbomFile}\n`);
}
