import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { bridgeFlags } from '../../../../tools/release/bridge-flags.ts';

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

it('options of Node stand in the first line of the command', () => {
  const [firstLine] = readFileSync('operators/cli/advert-bridge.cjs', 'utf8').split('\n');
  expect(firstLine).toBe(`#!/usr/bin/env -S node ${bridgeFlags.join(' ')}`);
});
