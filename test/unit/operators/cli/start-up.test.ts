import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { bridgeFlags } from '../../../../tools/release/bridge-flags.ts';
import { newFolder } from './run-cli.ts';

/** What code that V8 has compiled is valid for. @see https://nodejs.org/api/v8.html#v8cacheddataversiontag */
const tagWith = (flags: readonly string[]): string =>
  execFileSync(process.execPath, [...flags, '--print', "require('node:v8').cachedDataVersionTag()"], {
    encoding: 'utf8',
  });

/** Before, V8 counts the sizes of the heap, and a start takes some ms more. */
const firstMinor = 14;

const isOlder = Number(process.versions.node.split('.')[1]) < firstMinor;
it.skipIf(isOlder)('options of Node keep its own compiled modules valid', () => {
  expect(tagWith(bridgeFlags)).toBe(tagWith([]));
});

const starter = 'operators/cli/advert-bridge.cjs';

it('the command starts where env takes no options, as on Alpine', () => {
  expect(readFileSync(starter, 'utf8').split('\n')[0]).toBe('#!/usr/bin/env node');
});

it.skipIf(!('execve' in process))('a run has the options of Node, in the same process', () => {
  const folder = newFolder();
  const preload = path.join(folder, 'preload.cjs');
  writeFileSync(preload, 'console.log(JSON.stringify([process.pid, process.execArgv]));');

  const env = { ...process.env, NODE_OPTIONS: `--require ${preload}` };
  const args = [starter, 'run', '--local', path.join(folder, 'none')];
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { env, encoding: 'utf8' });

  const [first, second, ...others] = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect([first[1], second, others]).toEqual([[], [first[0], bridgeFlags], []]);
  expect([status, stderr]).toEqual([1, expect.stringMatching(/^advert-bridge: there is no bridge in .*\n$/)]);
});

it('a command does not print that SQLite is experimental', () => {
  const warns = ['SQLite is an experimental feature', 'Something else is experimental']
    .map((text) => `process.emitWarning('${text}', 'ExperimentalWarning');`)
    .join('');
  const args = ['-e', `require('./${starter}'); ${warns}`, 'program', '--version'];
  const { stderr } = spawnSync(process.execPath, args, { env: {}, encoding: 'utf8' });

  expect(stderr).toContain('Something else is experimental');
  expect(stderr).not.toContain('SQLite');
});
