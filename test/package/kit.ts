/** The kit in projects that are not ES modules on the newest Node. */
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { expect, installs, run, step, succeeds } from './steps.ts';

/** By number: what an old Node's npm would choose is older. TypeScript 6 warns of classic resolution, 7 does not know it. */
const others = { jest: '30.5.2', typescript: '5.9.3' };

/**
 * The lowest Node that package.json allows, installed.
 *
 * @returns its version, and the environment in which it is `node`
 */
export async function lowestNode(
  repository: string,
  folder: string,
  env: NodeJS.ProcessEnv,
): Promise<{ readonly lowest: string; readonly withLowest: NodeJS.ProcessEnv }> {
  const { engines } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8'));
  const lowest = `${engines.node.replace('>=', '')}.0`;
  const place = join(folder, 'lowest-node');
  await mkdir(place);
  await writeFile(join(place, 'package.json'), '{ "private": true, "allowScripts": { "node": true } }');
  await installs(place, env, `node@${lowest}`);
  const withLowest = { ...env, PATH: `${join(place, 'node_modules/node/bin')}${delimiter}${env.PATH}` };
  const is = await succeeds(place, withLowest, 'node', '--version');
  expect(is === `v${lowest}`, `it is ${is}`);
  return { lowest, withLowest };
}

/** @param versioned a package as `name@version`, by the repository's own package.json */
export async function checkCommonJs(
  {
    repository,
    folder,
    kit,
    env,
  }: Readonly<Record<'repository' | 'folder' | 'kit', string>> & {
    readonly env: NodeJS.ProcessEnv;
  },
  versioned: (name: string) => string,
): Promise<void> {
  const project = join(folder, 'classic');
  const fresh = (file: string) => cp(join(repository, 'test/package/fresh', file), join(project, file));
  await mkdir(project);
  await writeFile(join(project, 'package.json'), JSON.stringify({ name: 'classic', private: true }));
  await step('the kit installs into a CommonJS project', () => {
    const known = ['aws-cdk-lib', 'constructs', '@types/node'].map(versioned);
    const fixed = Object.entries(others).map(([name, version]) => `${name}@${version}`);
    return installs(project, env, kit, ...known, ...fixed).then(() => '');
  });
  await step('Jest, with nothing configured, runs a test of a subscriber there', async () => {
    await fresh('subscriber.test.cjs');
    const { code, err } = await run(project, env, 'npx', 'jest', '--ci');
    expect(code === 0, err);
    return /^Tests: +(.*)$/m.exec(stripVTControlCharacters(err))?.[1];
  });
  await step('classic module resolution finds the types, and none of our sources', async () => {
    await fresh('classic.ts');
    const flags = ['--strict', '--module', 'commonjs', '--moduleResolution', 'node10', '--target', 'es2022'];
    const args = [...flags, '--types', 'node', '--outDir', 'out', '--listFiles', 'classic.ts'];
    const files = await succeeds(project, env, 'npx', 'tsc', ...args);
    const ours = files.split('\n').filter((file) => file.includes('/advert-bridge-kit/'));
    const sources = ours.filter((file) => !file.endsWith('.d.ts'));
    expect(ours.length > 0 && sources.length === 0, `it read ${sources.join(' ') || 'nothing'}`);
    return succeeds(project, env, 'node', 'out/classic.js').then(() => `${ours.length} files`);
  });
}
