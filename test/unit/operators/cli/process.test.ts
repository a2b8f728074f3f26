/** Tests that need a separate process: signals, a reader that ends, the real standard streams. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { heartbeatFileIn } from '../../../../embedded/state/file/private-folder.ts';
import { startConnected, startLocal } from './local-bridge.ts';
import { hasTerminal, start, startByNpm, startOnTerminal } from './process.ts';

const firstOutput = (child: ChildProcessWithoutNullStreams) =>
  once(child.stdout, 'data').then(([text]) => String(text));

it('a secret is read from a pipe, and the exit code is that of the command', async () => {
  const { sandbox, dir, connect } = await startLocal();
  const { child, ended } = start(
    `application --local ${dir} --base-url ${sandbox.url} --client-id sandbox-client --client-secret-stdin`,
  );
  child.stdin.end('sandbox-client-secret\n');

  expect(await ended).toMatchObject({ code: 0, stdout: '' });
  expect(await connect()).toMatchObject({ exitCode: 0 });
  expect(await start(`disconnect mian --local ${dir}`).ended).toMatchObject({ code: 2, stdout: '' });
  expect(await start('frobnicate').ended).toMatchObject({ code: 2, stdout: '' });
});

it.skipIf(!hasTerminal)('nothing is shown of a secret that is typed on a terminal', async () => {
  const { sandbox, dir, connect } = await startLocal();
  const { child, ended } = startOnTerminal(
    `application --local ${dir} --base-url ${sandbox.url} --client-id sandbox-client --client-secret-stdin`,
  );
  expect(await firstOutput(child)).toBe('The client secret (it is not shown): ');
  child.stdin.write('sandbox-client-secret\r');

  const { code, stdout } = await ended;
  expect([code, stdout]).toEqual([0, expect.stringContaining('Stored')]);
  expect(stdout).not.toContain('sandbox-client-secret');
  expect(await connect()).toMatchObject({ exitCode: 0 });
});

it.each(['SIGTERM', 'SIGINT'] as const)('a run ends with 0 on %s', async (signal) => {
  const { sandbox, dir } = await startConnected();
  sandbox.control.createAdverts(1);
  const { child, ended } = start(`run --local ${dir}`);
  await firstOutput(child);

  child.kill(signal);

  expect(await ended).toMatchObject({ code: 0, signal: null });
});

it('a run without a terminal goes on after SIGHUP', async () => {
  const { sandbox, dir } = await startConnected();
  sandbox.control.createAdverts(1);
  const { child, ended } = start(`run --local ${dir} --poll-seconds 1`);
  await firstOutput(child);

  child.kill('SIGHUP');
  const [advertId] = sandbox.control.createAdverts(1);

  expect(await firstOutput(child)).toContain(`"advertId":"${advertId}"`);
  child.kill('SIGTERM');
  expect(await ended).toMatchObject({ code: 0 });
});

it.skipIf(!hasTerminal)('a run ends with 0 when its terminal is closed', async () => {
  const { sandbox, dir } = await startConnected();
  sandbox.control.createAdverts(1);
  const { child, ended } = startOnTerminal(`run --local ${dir}`);
  await firstOutput(child);
  const [, pid] = /^pid (\d+) /.exec(readFileSync(heartbeatFileIn(dir), 'utf8')) ?? [];

  process.kill(Number(pid), 'SIGHUP');

  expect(await ended).toMatchObject({ code: 0 });
});

it('a run ends when npm, which does not hand on SIGTERM, has gone', async () => {
  const { sandbox, dir, status } = await startConnected();
  sandbox.control.createAdverts(1);
  const { child, ended } = startByNpm(`run --local ${dir}`);
  await firstOutput(child);

  child.kill('SIGTERM');

  // Its output is closed when the last process that writes to it has ended.
  expect(await ended).toMatchObject({ signal: 'SIGTERM' });
  expect((await status()).partnerAccounts[0].books).toMatchObject({ events: 1, inFlight: 0 });
});

it('a run ends at once on the second SIGINT', async () => {
  const { sandbox, dir } = await startConnected();
  const [told, hanging] = sandbox.control.createAdverts(2);
  sandbox.control.faults.add({ kind: 'hang', endpoint: 'advert', advertId: hanging as string });
  const { child, ended } = start(`run --local ${dir} --verbose`);
  expect(await firstOutput(child)).toContain(`"advertId":"${told}"`);

  child.kill('SIGINT');
  // Sent repeatedly, because the first one may still be on its way.
  const again = setInterval(() => child.kill('SIGINT'), 50);
  onTestFinished(() => clearInterval(again));

  expect(await ended).toMatchObject({ code: 130 });
});

it('a run ends with 0, losing nothing, when nobody reads its output', async () => {
  const { sandbox, dir, run, status } = await startConnected();
  sandbox.control.createAdverts(200);
  const { child, ended } = start(`run --local ${dir} --max-requests-per-second 1000 --concurrency 1`);

  await firstOutput(child);
  child.stdout.destroy();

  expect(await ended).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^Advert Bridge .*\n$/),
  });
  expect(await run('run --until-idle --max-requests-per-second 10000')).toMatchObject({ exitCode: 0 });
  expect((await status()).partnerAccounts[0].books).toMatchObject({
    listed: 200,
    events: 200,
    inFlight: 0,
  });
});

it('the sandbox runs until a signal, and names a port in use', async () => {
  const { child, ended } = start('sandbox --port 0 --json --adverts 3');
  const { url, port, users } = JSON.parse(await firstOutput(child));

  expect(await start(`sandbox --port ${port}`).ended).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining(`address already in use 127.0.0.1:${port}. Choose another port`),
  });
  expect(users).toEqual([{ name: 'main', refreshToken: 'sandbox-refresh-token-main' }]);
  expect((await fetch(`${url}/_sandbox/`)).ok).toBe(true);
  child.kill('SIGTERM');
  expect(await ended).toMatchObject({ code: 0, signal: null });
});
