import { expect, it } from 'vitest';
import { watch } from '../../../../cli/commands/status.ts';

it('status --watch reports every five seconds until it is stopped', async () => {
  const stopping = new AbortController();
  const sleeps: number[] = [];
  const clock = {
    now: () => 0,
    async sleep(ms: number) {
      sleeps.push(ms);
      if (sleeps.length === 3) stopping.abort();
    },
  };

  const exitCode = await watch(async () => (sleeps.length === 2 ? 3 : 0), clock, stopping.signal);

  expect({ exitCode, sleeps }).toEqual({ exitCode: 3, sleeps: [5_000, 5_000, 5_000] });
});
