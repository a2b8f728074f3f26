import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { programOf } from '../../../../operators/cli/shared/program.ts';
import { cli } from './run-cli.ts';

it.each([
  ['the repository', '/repo/cli/advert-bridge.cjs', '/repo', 'npm run bridge --'],
  ['a project', '/app/node_modules/.bin/advert-bridge', '/app/src', 'npx advert-bridge'],
  ['a project elsewhere', '/app/node_modules/.bin/advert-bridge', '/other', 'advert-bridge'],
  ['a global installation', '/usr/bin/advert-bridge', '/app', 'advert-bridge'],
])('hints name the command as it is called from %s', (_, script, cwd, expected) => {
  expect(programOf(script, cwd)).toBe(expected);
});

it.each([
  [['./advert-bridge-0.1.0.tgz'], 'npx ./advert-bridge-0.1.0.tgz'],
  [['file:/tars/advert-bridge-0.1.0.tgz'], 'npx file:/tars/advert-bridge-0.1.0.tgz'],
  [['/tars/advert-bridge-0.1.0.tgz'], 'npx --package /tars/advert-bridge-0.1.0.tgz advert-bridge'],
  [['./my tars/a.tgz'], "npx './my tars/a.tgz'"],
  [['node@24', './a.tgz'], 'npx --package node@24 --package ./a.tgz advert-bridge'],
])('hints name the command as it is called from npx of %j', (packages, expected) => {
  const folder = path.join(mkdtempSync(path.join(tmpdir(), 'npx-')), '_npx/0284ef3e');
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ _npx: { packages } }));

  expect(programOf(path.join(folder, 'node_modules/.bin/advert-bridge'), '/app')).toBe(expected);
});

it('a Node without TypeScript is told the command with npm’s', () => {
  const args = ['--no-experimental-strip-types', 'operators/cli/advert-bridge.cjs', 'status'];
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });

  expect(status).toBe(2);
  expect(stderr).toMatch(/^advert-bridge: this is Node [^\n]*: npm run bridge -- status …\n$/);
});

it.each([
  ['was not run', [], 'Run npm ci first.'],
  ['left out what is for development', ['node_modules'], 'run npm ci --include=dev'],
])('a clone in which npm ci %s says what to do', (_, folders, says) => {
  const clone = mkdtempSync(path.join(tmpdir(), 'clone-'));
  onTestFinished(() => rmSync(clone, { recursive: true }));
  cpSync('tools/node', path.join(clone, 'tools/node'), { recursive: true });
  for (const folder of folders) mkdirSync(path.join(clone, folder));

  const { status, stderr } = spawnSync(process.execPath, [path.join(clone, 'tools/node/run.cjs')], {
    encoding: 'utf8',
  });

  expect([status, stderr]).toEqual([2, expect.stringMatching(/^advert-bridge: .*\n$/)]);
  expect(stderr).toContain(says);
});

it('the help of each command has the program as it was started', async () => {
  const { stdout } = await cli('--help');
  const names = [...stdout.matchAll(/^ {2}([a-z][a-z-]+) /gm)].map(([, name]) => name);
  const texts = await Promise.all(names.map(async (name) => (await cli(`${name} --help`)).stdout));

  expect(names).toContain('status');
  for (const text of [stdout, ...texts]) expect(text).not.toContain('$0');
  expect(texts.filter((text) => !text.includes('\n  advert-bridge '))).toEqual([]);
});
