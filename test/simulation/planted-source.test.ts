import { describe, expect, it } from 'vitest';
import { childProcesses } from '../helpers/child-process.ts';
import { replaceOnce } from './planted/mutants.ts';

/** A separate process, in which Node and not vitest imports the changed sources. */
const start = childProcesses();

describe('a planted fault', () => {
  it('can be planted in the source as it is', async () => {
    const planted = await start(`
      import { plantedFaults } from './test/simulation/planted/planted.ts';
      const misfits = [];
      for (const { name, plant } of plantedFaults)
        await plant().catch(({ message }) => misfits.push(name + ' (in test/simulation/planted): ' + message));
      console.log(JSON.stringify(misfits));
    `);

    expect(JSON.parse(planted.line)).toEqual([]);
  }, 60_000);

  it('is refused when the source it changes has changed', () => {
    const replacement = { file: 'a.ts', from: 'b', to: 'c' };

    expect(replaceOnce('abd', replacement)).toBe('acd');
    expect(() => replaceOnce('aaa', replacement)).toThrow('a.ts: expected once, found 0 times: b');
    expect(() => replaceOnce('bab', replacement)).toThrow('found 2 times');
  });
});
