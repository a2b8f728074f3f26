import { spawnSync } from 'node:child_process';
import { emitWarningIfUnsupportedVersion } from '@aws-sdk/core/client';
import * as v from 'valibot';
import { afterEach, expect, it, vi } from 'vitest';
import { prepareNode20 } from '../../../../../operators/cli/node-20.ts';
import { partnerBaseUrl } from '../../../../../shared/contract/settings.ts';

const { groupBy } = Map;
const { groupBy: objectGroupBy } = Object;
const { withResolvers } = Promise;
const { parse } = URL;
afterEach(() => {
  Map.groupBy = groupBy;
  Object.groupBy = objectGroupBy;
  Promise.withResolvers = withResolvers;
  URL.parse = parse;
});

it('Node 20 gets what it has not, as later versions have it', async () => {
  const lengthOf = (word: string, index: number) => word.length + index * 0;
  const words = ['one', 'two', 'three', 'four'];
  const expected = [groupBy(words, lengthOf), objectGroupBy(words, lengthOf)];
  for (const [owner, name] of [
    [Map, 'groupBy'],
    [Object, 'groupBy'],
    [Promise, 'withResolvers'],
    [URL, 'parse'],
  ] as const)
    Reflect.set(owner, name, undefined);
  // The stack is synthesized without what the command line adds.
  expect(v.is(partnerBaseUrl, 'https://partner.example')).toBe(true);
  prepareNode20();

  expect([Map.groupBy(words, lengthOf), Object.groupBy(words, lengthOf)]).toEqual(expected);
  const [kept, broken] = [Promise.withResolvers<number>(), Promise.withResolvers<number>()];
  kept.resolve(1);
  broken.reject(new Error('broken'));
  expect(await kept.promise).toBe(1);
  await expect(broken.promise).rejects.toThrow('broken');
  expect([URL.parse('/a', 'http://b')?.href, URL.parse('/a')]).toEqual(['http://b/a', null]);
});

it.each([
  ['run --local x', {}, 'or run: npx -p node@24 -- node'],
  ['demo', { npm_config_package: 'node@24' }, 'does its configuration say ignore-scripts=true?'],
])('%s on Node 20 says how to get a newer one', (words, env, says) => {
  const onNode20 = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } });
    require('./operators/cli/advert-bridge.cjs')`;
  const { status, stderr } = spawnSync(process.execPath, ['-e', onNode20, 'program', ...words.split(' ')], {
    env,
    encoding: 'utf8',
  });

  expect([status, stderr]).toEqual([2, expect.stringContaining(says)]);
});

it('a command on Node 20 prints no warning of the AWS SDK', () => {
  vi.stubEnv('AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED', undefined);
  const emitted = vi.spyOn(process, 'emitWarning').mockReturnValue();
  prepareNode20();

  emitWarningIfUnsupportedVersion('v20.20.2');

  expect(emitted).not.toHaveBeenCalled();
  emitted.mockRestore();
});
