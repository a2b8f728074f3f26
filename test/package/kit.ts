/** The kit in projects that are not ES modules on the newest Node. */
import { globSync } from 'node:fs';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, delimiter, join } from 'node:path';
import { kitPeers } from '../../tools/release/kit-package.ts';
import { compiles, expect, installs, run, step, succeeds } from './steps.ts';

/** By number: what an old Node's npm would choose is older. */
const others = { jest: '30.5.2', typescript: '5.9.3' };

/** Two compilers and the ways of resolving modules that each of them knows. */
const compilers = {
  '5.9.3': ['nodenext', 'bundler', 'node10'],
  '7.0.2': ['nodenext', 'bundler'],
} as const;

/** Installs a Node. @returns the environment in which it is `node` */
export async function nodeOf(
  version: string,
  folder: string,
  env: NodeJS.ProcessEnv,
): Promise<NodeJS.ProcessEnv> {
  const place = join(folder, `node-${version}`);
  await mkdir(place);
  await writeFile(join(place, 'package.json'), '{ "private": true, "allowScripts": { "node": true } }');
  await installs(place, env, `node@${version}`);
  const withNode = { ...env, PATH: `${join(place, 'node_modules/node/bin')}${delimiter}${env.PATH}` };
  const is = await succeeds(place, withNode, 'node', '--version');
  expect(is === `v${version}`, `it is ${is}`);
  return withNode;
}

export interface Installed extends Readonly<Record<'repository' | 'folder' | 'kit', string>> {
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Every snippet of the pages in a project like that of `cdk init`, which writes declarations: each type that a handler's
 * type mentions has to be exported.
 */
export async function checkDeclarations(
  { repository, folder, kit, env }: Installed,
  versioned: (name: string) => string,
): Promise<void> {
  const files = globSync('test/docs/*.ts', { cwd: repository, exclude: ['**/*.test.ts', '**/bridge.ts'] });
  const types = [
    'aws-cdk-lib',
    'constructs',
    '@types/node',
    '@aws-sdk/client-dynamodb',
    '@aws-sdk/client-sqs',
  ];
  for (const [version, resolutions] of Object.entries(compilers)) {
    const project = join(folder, `typescript-${version}`);
    await mkdir(project);
    await writeFile(join(project, 'package.json'), JSON.stringify({ name: 'search', private: true }));
    for (const file of files) await cp(join(repository, file), join(project, basename(file)));
    await step(`the kit installs beside TypeScript ${version}`, () =>
      installs(project, env, kit, `typescript@${version}`, ...types.map(versioned)),
    );
    for (const resolution of resolutions) {
      await step(
        `every snippet compiles with declarations: TypeScript ${version}, ${resolution}`,
        async () => {
          const module = { nodenext: 'nodenext', bundler: 'esnext', node10: 'commonjs' }[resolution];
          const how = `--module ${module} --moduleResolution ${resolution} --outDir ${resolution}`;
          const flags = `--skipLibCheck --declaration --target es2022 --types node ${how}`;
          await compiles(project, env, flags, ...files.map((file) => basename(file)));
        },
      );
    }
  }
}

interface Constructs {
  readonly tarball: string;
  readonly peers: Readonly<Record<string, string>>;
  readonly program: string;
}

/** The constructs with the oldest CDK that their package names, and with the newest there is. */
export async function checkCdkVersions(
  { repository, folder, kit, env }: Installed,
  bridge: Omit<Constructs, 'program'>,
): Promise<void> {
  const both: Readonly<Record<string, Constructs>> = {
    AdvertSubscription: { tarball: kit, peers: kitPeers, program: 'synth.cjs' },
    AdvertBridge: { ...bridge, program: 'bridge.cjs' },
  };
  for (const [construct, { tarball, peers, program }] of Object.entries(both)) {
    const oldest = Object.entries(peers).map(([name, range]) => `${name}@${range.replace('^', '')}`);
    for (const cdk of [oldest, ['aws-cdk-lib@latest', 'constructs@latest']]) {
      await step(`${construct} synthesizes with ${cdk[0]}`, async () => {
        const project = join(folder, `cdk-${construct}-${cdk[0]?.split('@')[1]}`);
        await mkdir(project);
        await writeFile(join(project, 'package.json'), JSON.stringify({ name: 'search', private: true }));
        await installs(project, env, tarball, ...cdk);
        await cp(join(repository, 'test/package/fresh', program), join(project, program));
        return succeeds(project, { ...env, CDK_VALIDATION: 'false' }, 'node', program);
      });
    }
  }
}

/** Both packages in a project of ES modules with the Jest before the newest. */
export async function checkJest29(
  { repository, folder, kit, env }: Installed,
  bridge: Omit<Constructs, 'program'>,
) {
  await step('Jest 29 runs a test of both packages as ES modules', async () => {
    const project = join(folder, 'jest-29');
    await mkdir(project);
    const manifest = { name: 'shop', private: true, type: 'module' };
    await writeFile(join(project, 'package.json'), JSON.stringify(manifest));
    const cdk = Object.entries(bridge.peers).map(([name, range]) => `${name}@${range.replace('^', '')}`);
    await installs(project, env, kit, bridge.tarball, 'jest@29.7.0', ...cdk);
    await cp(join(repository, 'test/package/fresh/modules.test.js'), join(project, 'modules.test.js'));
    const asModules = { ...env, CDK_VALIDATION: 'false', NODE_OPTIONS: '--experimental-vm-modules' };
    return succeeds(project, asModules, 'npx', 'jest', '--ci');
  });
}

/** @param versioned a package as `name@version`, by the repository's own package.json */
export async function checkCommonJs(
  { repository, folder, kit, env }: Installed,
  versioned: (name: string) => string,
): Promise<void> {
  const project = join(folder, 'classic');
  const fresh = (file: string) => cp(join(repository, 'test/package/fresh', file), join(project, file));
  await mkdir(project);
  await writeFile(join(project, 'package.json'), JSON.stringify({ name: 'classic', private: true }));
  await step('the kit installs into a CommonJS project', () => {
    const known = ['aws-cdk-lib', 'constructs', '@types/node'].map(versioned);
    const fixed = Object.entries(others).map(([name, version]) => `${name}@${version}`);
    return installs(project, env, kit, ...known, ...fixed);
  });
  await step('Jest, with nothing configured, runs a test of a subscriber there', async () => {
    await fresh('subscriber.test.cjs');
    const { code, err } = await run(project, env, 'npx', 'jest', '--ci');
    expect(code === 0, err);
  });
  await step('the complete stack of the guide, as CommonJS, compiles and synthesizes', async () => {
    for (const file of ['handler.ts', 'stack.ts']) {
      const source = await readFile(join(repository, 'docs/examples/minimal', file), 'utf8');
      await writeFile(join(project, file), source.replace('import.meta.dirname', '__dirname'));
    }
    const more = ['@aws-sdk/client-dynamodb', '@aws-sdk/client-sqs', 'esbuild'];
    await installs(project, env, ...more.map(versioned));
    const flags = '--skipLibCheck --module nodenext --target es2022 --types node --declaration';
    await compiles(project, env, flags, 'stack.ts', 'handler.ts');
    const synth = `
      const { App } = require('aws-cdk-lib');
      const app = new App({ context: { 'aws:cdk:bundling-stacks': [] } });
      new (require('./stack.js').MinimalStack)(app, 'Minimal', { busName: 'adverts' });
      console.log(Object.keys(app.synth().stacks[0].template.Resources).length, 'resources');`;
    return succeeds(project, { ...env, CDK_VALIDATION: 'false' }, 'node', '-e', synth);
  });
  await step('classic module resolution finds the types, and none of our sources', async () => {
    await fresh('classic.ts');
    const flags =
      '--module commonjs --moduleResolution node10 --target es2022 --types node --outDir out --listFiles';
    const files = await compiles(project, env, flags, 'classic.ts');
    const ours = files.split('\n').filter((file) => file.includes('/advert-bridge-kit/'));
    const sources = ours.filter((file) => !file.endsWith('.d.ts'));
    expect(ours.length > 0 && sources.length === 0, `it read ${sources.join(' ') || 'nothing'}`);
    await succeeds(project, env, 'node', 'out/classic.js');
  });
}
