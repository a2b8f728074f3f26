import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { watch } from '../../../../cli/commands/status.ts';
import type { Io } from '../../../../cli/shared/io.ts';

/** Reports three times, at intervals of five seconds on its own clock. */
async function watched(redraws: boolean) {
  const stopping = new AbortController();
  const stdout = new PassThrough({ decodeStrings: false }).setEncoding('utf8');
  let now = 0;
  let reports = 0;
  const sleeps: number[] = [];
  const clock = {
    now: () => now,
    async sleep(ms: number) {
      sleeps.push(ms);
      now += ms;
      if (reports === 3) stopping.abort();
    },
  };
  const io = { stdout } as unknown as Io;
  const exitCode = await watch({ io, clock, signal: stopping.signal, redraws }, async (clear) => {
    reports += 1;
    clear();
    stdout.write(`report ${reports}\n`);
    return reports === 3 ? 3 : 0;
  });
  return { exitCode, sleeps, written: String(stdout.read()) };
}

describe('status --watch', () => {
  it('reports every five seconds until it is stopped, and ends with the code of the last report', async () => {
    expect(await watched(false)).toEqual({
      exitCode: 3,
      sleeps: [5_000, 5_000, 5_000],
      written: 'report 1\nreport 2\nreport 3\n',
    });
  });

  it('draws each report over the one before on a terminal', async () => {
    const { written } = await watched(true);
    expect(written.split('\u001B[H\u001B[J')).toEqual(['', 'report 1\n', 'report 2\n', 'report 3\n']);
  });
});
