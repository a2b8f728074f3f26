/**
 * The package as another team gets it: built and packed, judged by publint and arethetypeswrong, installed from the
 * tarball into a new project, and used there: README's snippets compile and run, and the command line answers.
 *
 *     npm run test:package        needs the npm registry, or a filled npm cache
 */
import { spawn } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { maxKb } from '../../scripts/size-budgets.ts';
import { startDynamo } from '../helpers/aws/emulators.ts';
import { checkSbom } from './check-sbom.ts';

const repository = join(import.meta.dirname, '../..');
const { devDependencies, dependencies } = JSON.parse(
  await readFile(join(repository, 'package.json'), 'utf8'),
);
const folder = await mkdtemp(join(tmpdir(), 'advert-bridge-package-'));
const project = join(folder, 'project');
const tarball = join(folder, 'advert-bridge.tgz');
/** As in a shell of another team: nothing of this repository is on the path. */
const path = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((part) => !part.includes('node_modules'))
  .join(delimiter);
const bin = (name: string) => join(repository, 'node_modules/.bin', name);

let passed = 0;
let failed = 0;

async function step(name: string, work: () => Promise<unknown>): Promise<void> {
  try {
    const said = await work();
    passed += 1;
    console.log(`pass  ${name}${said ? `: ${said}` : ''}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${name}\n${error instanceof Error ? error.message : error}`);
  }
}

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

async function run(cwd: string, env: NodeJS.ProcessEnv, file: string, ...args: string[]): Promise<Ended> {
  const child = spawn(file, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk) => (out += chunk));
  child.stderr.on('data', (chunk) => (err += chunk));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  return { code, out, err };
}

async function succeeds(...call: Parameters<typeof run>): Promise<string> {
  const { code, out, err } = await run(...call);
  if (code !== 0) throw new Error(`${call.slice(2).join(' ')}: exit ${code}\n${out}${err}`);
  return out.trim();
}

const expect = (holds: boolean, what: string): void => {
  if (!holds) throw new Error(what);
};

const versioned = (name: string): string => `${name}@${devDependencies[name]}`;

const installs = (cwd: string, env: NodeJS.ProcessEnv, ...packages: string[]): Promise<string> =>
  succeeds(cwd, env, 'npm', 'install', '--no-audit', '--no-fund', '--prefer-offline', ...packages);

const dynamo = await startDynamo();
const aws = {
  AWS_ENDPOINT_URL_DYNAMODB: dynamo.url,
  AWS_REGION: 'eu-central-1',
  AWS_ACCESS_KEY_ID: '000000000000',
  AWS_SECRET_ACCESS_KEY: 'test',
};
const atHome = { PATH: path };

try {
  await mkdir(project);
  await step('npm pack builds it', async () => {
    const [packed] = Object.values(
      JSON.parse(await succeeds(repository, {}, 'npm', 'pack', '--json', '--pack-destination', folder)),
    ) as { filename: string; files: { path: string }[]; size: number }[];
    expect(packed !== undefined, 'npm named no tarball');
    const { filename, files, size } = packed as NonNullable<typeof packed>;
    await cp(join(folder, filename), tarball);
    const strays = files
      .map(({ path: file }) => file)
      .filter((file) => /(^|\/)(test\/|sandbox\/(?!README\.md$)|infra\/stack)/.test(file));
    expect(strays.length === 0, `what is nobody's business is inside: ${strays.join(' ')}`);
    const kb = Math.round(size / 1000);
    expect(kb <= maxKb.package, `${kb} KB: it may have ${maxKb.package} (scripts/size-budgets.ts)`);
    return `${files.length} files, ${kb} KB`;
  });
  await step('publint', () =>
    succeeds(repository, {}, bin('publint'), 'run', '--strict', tarball).then(() => ''),
  );
  await step('arethetypeswrong', () =>
    succeeds(repository, {}, bin('attw'), tarball, '--profile', 'strict').then(() => ''),
  );
  await step('it installs into a new project', async () => {
    await writeFile(
      join(project, 'package.json'),
      JSON.stringify({ name: 'search', private: true, type: 'module' }),
    );
    const others = ['typescript', '@types/node', '@aws-sdk/client-dynamodb', 'aws-cdk-lib', 'constructs'];
    await installs(project, atHome, tarball, ...others.map(versioned));
  });
  await step('it brings the schema library and nothing else', async () => {
    const installed = JSON.parse(
      await readFile(join(project, 'node_modules/advert-bridge/package.json'), 'utf8'),
    );
    const brought = Object.keys(installed.dependencies).join(' ');
    expect(brought === 'valibot' && Object.keys(dependencies).length === 1, `it brings ${brought}`);
  });
  await step('its bill of materials names what is inside it', async () => {
    const installed = join(project, 'node_modules/advert-bridge');
    const sbom = JSON.parse(await readFile(join(installed, 'dist/sbom.cdx.json'), 'utf8'));
    const { version } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
    const licenses = await readFile(join(installed, 'dist/cli/THIRD-PARTY-LICENSES.txt'), 'utf8');
    return checkSbom(sbom, { version, licenses, dependencies: Object.keys(dependencies) });
  });
  await step("README's snippets compile there", async () => {
    const files = ['test/docs/subscribe.ts', 'test/docs/handle.ts', 'test/package/fresh/run.ts'];
    for (const file of files) await cp(join(repository, file), join(project, file));
    const flags = ['--strict', '--module', 'nodenext', '--target', 'es2022', '--types', 'node'];
    const paths = ['--rootDir', 'test', '--outDir', 'out', '--rewriteRelativeImportExtensions'];
    await succeeds(project, atHome, 'npx', 'tsc', ...flags, ...paths, 'test/package/fresh/run.ts');
  });
  await step('and run', () => succeeds(project, { ...atHome, ...aws }, 'node', 'out/package/fresh/run.js'));
  await step('a stack with AdvertSubscription compiles there and runs', async () => {
    const file = 'test/docs/subscription-elsewhere.ts';
    await cp(join(repository, file), join(project, file));
    const flags = ['--strict', '--skipLibCheck', 'false', '--module', 'nodenext', '--target', 'es2022'];
    await succeeds(
      project,
      atHome,
      'npx',
      'tsc',
      ...flags,
      '--types',
      'node',
      '--rootDir',
      'test',
      '--outDir',
      'out',
      file,
    );
    await succeeds(project, atHome, 'node', 'out/docs/subscription-elsewhere.js');
  });
  await step('every snippet of the pages compiles there', async () => {
    const others = ['@types/aws-lambda', '@aws-sdk/client-sqs', '@middy/core', '@opentelemetry/api'];
    await installs(project, atHome, ...others.map(versioned));
    const files = globSync('test/docs/*.ts', { cwd: repository, exclude: ['**/*.test.ts'] });
    for (const file of files) await cp(join(repository, file), join(project, file));
    const flags = ['--strict', '--noEmit', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2024'];
    await succeeds(project, atHome, 'npx', 'tsc', ...flags, '--types', 'node', ...files);
    return `${files.length} of them`;
  });
  await step('its pages link only to what it has', async () => {
    const installed = join(project, 'node_modules/advert-bridge');
    const pages = globSync('{*.md,docs/**/*.md}', { cwd: installed });
    const missing: string[] = [];
    for (const page of pages) {
      const text = await readFile(join(installed, page), 'utf8');
      for (const [, target = ''] of text.matchAll(/\]\((?!https?:)([^)#]+)(#[^)]*)?\)/g)) {
        if (!existsSync(join(installed, dirname(page), target))) missing.push(`${page}: ${target}`);
      }
    }
    expect(missing.length === 0, missing.join('\n'));
    return `${pages.length} pages`;
  });
  // The other team's Node: it runs TypeScript as it is.
  const withNode24 = { PATH: `${join(repository, 'node_modules/node/bin')}${delimiter}${path}` };
  for (const name of ['minimal', 'search-index']) {
    const example = join(folder, name);
    await step(`examples/${name}: copied out of the repository, its tests pass`, async () => {
      await cp(join(repository, 'examples', name), example, { recursive: true });
      await installs(example, withNode24, tarball);
      await succeeds(example, withNode24, 'npx', 'tsc', '-p', '.');
      const said = await succeeds(example, withNode24, 'npm', 'test');
      return /Tests .*passed.*/.exec(stripVTControlCharacters(said))?.[0];
    });
    await step('… and it synthesizes', async () => {
      const template = await succeeds(example, withNode24, 'npx', 'cdk', 'synth', '--no-notices');
      expect(template.includes('AWS::Events::Rule'), template);
    });
  }
  await step('npx advert-bridge --help', async () => {
    const help = await succeeds(project, atHome, 'npx', 'advert-bridge', '--help');
    expect(help.startsWith('Usage: advert-bridge'), help);
  });
  await step('npx advert-bridge status --local: state that is not there', async () => {
    const { code, err } = await run(project, atHome, 'npx', 'advert-bridge', 'status', '--local', './state');
    expect(code === 1 || code === 2, `exit ${code}\n${err}`);
    expect(!/unexpected|at .*:\d+:\d+/.test(err), err);
    return err.split('\n').find((line) => line.startsWith('advert-bridge:'));
  });
  await step('npx advert-bridge status: the SDK inside it, and a stack that is not there', async () => {
    const nowhere = { ...atHome, ...aws, AWS_ENDPOINT_URL: 'http://127.0.0.1:9' };
    const { code, err } = await run(project, nowhere, 'npx', 'advert-bridge', 'status');
    expect(code === 1 && err.includes('AWS cannot be reached at http://127.0.0.1:9'), `exit ${code}\n${err}`);
  });
} finally {
  await dynamo.stop();
  await rm(folder, { recursive: true, force: true });
}
console.log(`package: ${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
