import { afterEach, expect, it } from 'vitest';
import { addEs2024 } from '../../../../cli/node-20.ts';

const { groupBy } = Map;
const { groupBy: objectGroupBy } = Object;
const { withResolvers } = Promise;
afterEach(() => {
  Map.groupBy = groupBy;
  Object.groupBy = objectGroupBy;
  Promise.withResolvers = withResolvers;
});

it('gives Node 20 what it has not, as later versions have it', async () => {
  const lengthOf = (word: string, index: number) => word.length + index * 0;
  const words = ['one', 'two', 'three', 'four'];
  const expected = [groupBy(words, lengthOf), objectGroupBy(words, lengthOf)];
  for (const [owner, name] of [
    [Map, 'groupBy'],
    [Object, 'groupBy'],
    [Promise, 'withResolvers'],
  ] as const)
    Reflect.set(owner, name, undefined);
  addEs2024();

  expect([Map.groupBy(words, lengthOf), Object.groupBy(words, lengthOf)]).toEqual(expected);
  const [kept, broken] = [Promise.withResolvers<number>(), Promise.withResolvers<number>()];
  kept.resolve(1);
  broken.reject(new Error('broken'));
  expect(await kept.promise).toBe(1);
  await expect(broken.promise).rejects.toThrow('broken');
});
