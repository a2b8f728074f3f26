import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { watch } from '../../../../cli/commands/status.ts';
import type { Io } from '../../../../cli/shared/io.ts';

it.each([
  ['', false],
  [', on a terminal over the one before', true],
])('status --watch reports every five seconds until it is stopped%s', async (_, redraws) => {
  const stopping = new AbortController();
  const stdout = new PassThrough({ decodeStrings: false }).setEncoding('utf8');
  const sleeps: number[] = [];
  const clock = {
    now: () => 0,
    async sleep(ms: number) {
      sleeps.push(ms);
      if (sleeps.length === 3) stopping.abort();
    },
  };
  const io = { stdout } as unknown as Io;
  const exitCode = await watch({ io, clock, signal: stopping.signal, redraws }, async (clear) => {
    clear();
    stdout.write(`report ${sleeps.length}\n`);
    return sleeps.length === 2 ? 3 : 0;
  });

  const clearing = redraws ? '\u001B[H\u001B[J' : '';
  expect({ exitCode, sleeps }).toEqual({ exitCode: 3, sleeps: [5_000, 5_000, 5_000] });
  expect(String(stdout.read())).toBe([0, 1, 2].map((number) => `${clearing}report ${number}\n`).join(''));
});
