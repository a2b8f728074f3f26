/**
 * README's two commands in a fresh copy, with other Nodes and npms than those of this machine, which come from the
 * registry and are alone on the path.
 *
 *     npm run test:nodes [-- NODE/NPM …]        default: all of them, 10 minutes
 */
import { execFileSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { type Ended, expect, run, step, steps, succeeds } from './steps.ts';

/** By number: what an old Node's npm would choose is older. */
const pairs = [
  '20.20.2/10.8.2',
  '22.13.0/10.9.2',
  '20.20.2/11.21.2',
  '22.22.3/11.21.2',
  '24.21.0/11.21.2',
  '26.12.1/11.21.2',
];
/** Not promised: its npm has to say so at once. */
const tooOld = '18.20.8/10.8.2';
/** npm prints one for each line of a warning about a package that does not fit. */
const maxWarnings = 5;

const repository = join(import.meta.dirname, '../..');
const folder = await mkdtemp(join(tmpdir(), 'advert-bridge-nodes-'));
/** Without the `node` of this run: npm and the repository's own stand before it. */
const elsewhere = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((part) => !part.includes('node_modules'))
  .join(delimiter);

/** @returns the folder of a package, by its number, as its tarball has it */
async function unpacked(name: string, version: string): Promise<string> {
  const place = join(folder, `${name}-${version}`);
  await mkdir(place, { recursive: true });
  const tarball = await succeeds(place, {}, 'npm', 'pack', '--silent', `${name}@${version}`);
  await succeeds(place, {}, 'tar', '--extract', '--gzip', '--file', tarball);
  return join(place, 'package');
}

/** @returns the environment in which `node` and `npm` are these */
async function environmentOf(nodeVersion: string, npmVersion: string): Promise<NodeJS.ProcessEnv> {
  const node = await unpacked(`node-${process.platform}-${process.arch}`, nodeVersion);
  const npm = await unpacked('npm', npmVersion);
  const place = join(folder, `${nodeVersion}-${npmVersion}`);
  await mkdir(place);
  await symlink(join(node, 'bin/node'), join(place, 'node'));
  for (const name of ['npm', 'npx']) {
    await writeFile(join(place, name), `#!/bin/sh\nexec node '${npm}/bin/${name}-cli.js' "$@"\n`);
    await chmod(join(place, name), 0o755);
  }
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|NODE_OPTIONS|INIT_CWD)/i.test(name),
  );
  const unset = Object.keys(process.env).map((name) => [name, undefined]);
  return Object.fromEntries([...unset, ...inherited, ['PATH', place + delimiter + elsewhere]]);
}

/** As a clone has it, with what is not committed yet. */
function copied(place: string): void {
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--deduplicate'];
  const files = execFileSync('git', list, { cwd: repository, encoding: 'utf8' }).split('\0').filter(Boolean);
  for (const file of files) cpSync(join(repository, file), join(place, file));
}

const install = ['ci', '--no-audit', '--no-fund', '--prefer-offline'];
const said = ({ code, out, err }: Ended): string => `exit ${code}\n${out}\n${err}`;

async function works(pair: string): Promise<void> {
  const [node = '', npm = ''] = pair.split('/');
  const place = join(folder, `with-${node}-${npm}`);
  const env = await environmentOf(node, npm);
  copied(place);
  const name = (what: string) => `Node ${node}, npm ${npm}: ${what}`;
  await step(name(`npm ci, with at most ${maxWarnings} lines about unsuitable packages`), async () => {
    expect((await succeeds(place, env, 'node', '--version')) === `v${node}`, 'another Node is first');
    expect((await succeeds(place, env, 'npm', '--version')) === npm, 'another npm is first');
    const ended = await run(place, env, 'npm', ...install);
    const warnings = ended.err.split('\n').filter((line) => line.includes('EBADENGINE')).length;
    expect(ended.code === 0 && warnings <= maxWarnings, said(ended));
  });
  await step(name('npm start'), async () => {
    const ended = await run(place, env, 'npm', 'start', '--silent', '--', '--changes', '20');
    expect(ended.code === 0 && ended.out.trim().split('\n').length >= 20, said(ended));
  });
  await step(name('npm test, the first few'), async () => {
    const few = ['test/unit/shared/domain', 'test/unit/embedded/state', 'test/unit/bad-input'];
    await succeeds(place, env, 'npm', 'test', '--', ...few);
  });
  await rm(place, { recursive: true, force: true });
}

async function saysSo(): Promise<void> {
  const [node = '', npm = ''] = tooOld.split('/');
  const place = join(folder, 'too-old');
  copied(place);
  await step(`Node ${node}, npm ${npm}: npm ci says at once which Node is needed`, async () => {
    const ended = await run(place, await environmentOf(node, npm), 'npm', ...install);
    const isSaid = /Not compatible with your version of node\/npm: advert-bridge/.test(ended.err);
    expect(ended.code !== 0 && isSaid && ended.err.includes('"node":"'), said(ended));
  });
}

try {
  const asked = process.argv.slice(2);
  for (const pair of asked.length > 0 ? asked : pairs) await works(pair);
  await saysSo();
} finally {
  await rm(folder, { recursive: true, force: true });
}
steps.end('nodes');
