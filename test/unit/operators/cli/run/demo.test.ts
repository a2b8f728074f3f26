import { expect, it, vi } from 'vitest';
import { cli } from '../run-cli.ts';

it('demo --changes says what each run delivers and where the rest is', async () => {
  const { exitCode, stderr } = await cli('demo --changes 3');

  expect(stderr).toMatch(
    /^2 adverts are created:\n2 events\.\n1 of them is changed:\n1 event\.\n\n3 changes were listed, and each has an outcome: 3 events\.\n$/,
  );
  expect(exitCode).toBe(0);
});

it('demo --changes does not doubt the books when it is stopped', async () => {
  const stop = new AbortController();
  const onOutput = (text: string) => text.startsWith('{') && stop.abort();
  const ended = await cli('demo --changes 200 --json', { signal: stop.signal, onOutput });

  expect(ended.stderr).toMatch(
    /\n\d+ changes were listed, and the demo was stopped before each had an outcome: .*[1-9]\d* in flight\.\n$/,
  );
  expect(ended.exitCode).toBe(1);
});

it('demo without a folder for temporary files names the setting', async () => {
  vi.stubEnv('TMPDIR', '/no-such-folder');

  expect(await cli('demo --changes 2')).toMatchObject({
    exitCode: 1,
    stdout: '',
    stderr: expect.stringMatching(/\/no-such-folder, .* \(ENOENT\)\. Set TMPDIR to one that can\n$/),
  });
});

it('demo writes no progress between events that a terminal shows', async () => {
  const { stdout, stderr } = await cli('demo --changes 150', { onTerminal: true });

  expect(stdout.split('\n')).toContainEqual(
    expect.stringMatching(/^\d\d:\d\d:\d\d {2}main {2}advert 1001 {2}none → new$/),
  );
  expect(stderr).not.toContain('\r');
});
