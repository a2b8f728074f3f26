import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { serveMetrics } from '../../../../../operators/cli/run/metrics.ts';
import { startConnected } from '../local-bridge.ts';
import { rawStatus } from '../run-cli.ts';

/** A run of a connected bridge with two published adverts, until `work` has ended. */
async function whileRunning(work: (address: string) => Promise<void>, more = '') {
  const { sandbox, run, runUntilIdle } = await startConnected();
  sandbox.control.createAdverts(2);
  await runUntilIdle();
  const stop = new AbortController();
  const listening = Promise.withResolvers<string>();
  let said = '';
  const ended = run(`run --metrics 0${more}`, {
    signal: stop.signal,
    onOutput: (text) => {
      said += text;
      const address = /http:\/\/127\.0\.0\.1:\d+(?=\/metrics)/.exec(said)?.[0];
      if (address) listening.resolve(address);
    },
  });
  await work(await Promise.race([listening.promise, ended.then(({ stderr }) => Promise.reject(stderr))]));
  stop.abort();
  return ended;
}

it('run --metrics gives Prometheus text and says that it delivers', async () => {
  const { exitCode } = await whileRunning(async (address) => {
    const text = await (await fetch(`${address}/metrics`)).text();
    const health = await fetch(`${address}/health`);

    expect(text).toContain('advert_bridge_changes{partner_account="main",outcome="events"} 2\n');
    expect(text).toContain('# TYPE advert_bridge_lag_seconds gauge\n');
    expect(text).toMatch(/^advert_bridge_polling\{partner_account="main"\} 1$/m);
    expect(text).toMatch(/^advert_bridge_dead_letters 0$/m);
    expect(text).toMatch(/^advert_bridge_answers\{answer="ok"\} [1-9]/m);
    expect(text).toMatch(/^advert_bridge_rate_used [\d.e-]+$/m);
    expect(text).not.toMatch(/sandbox-(client|refresh)/);
    expect(health.status).toBe(200);
    expect(await health.json()).toEqual({ delivery: 'Delivering.' });
  });

  expect(exitCode).toBe(0);
});

it('metrics read the state once a second, however often they are asked', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  const look = vi.fn(() => Promise.reject(new Error('unreadable')));
  const { address, close } = await serveMetrics(0, look);
  const statuses = async () => [await rawStatus(address), await rawStatus(address)];

  const first = await statuses();
  vi.advanceTimersByTime(1_000);
  const second = await statuses();
  close();
  vi.useRealTimers();

  expect([...first, ...second]).toEqual([503, 503, 503, 503]);
  expect(look).toHaveBeenCalledTimes(2);
});

it('metrics drop a connection beyond 32, and one that sends nothing', async () => {
  const look = () => Promise.reject(new Error('unreadable'));
  const served = async (idleMs: number) => {
    const { address, close } = await serveMetrics(0, look, { idleMs });
    onTestFinished(close);
    const closings = Array.from({ length: 33 }, () => {
      const socket = connect(Number(new URL(address).port), '127.0.0.1').on('error', () => undefined);
      return once(socket.resume(), 'close');
    });
    return { address, closings };
  };

  const crowded = await served(60_000);
  await crowded.closings.at(-1);
  const left = await served(50);
  await Promise.all(left.closings);

  expect(await rawStatus(left.address)).toBe(503);
});

it('metrics refuse a foreign Host, another method and another path', async () => {
  await whileRunning(async (address) => {
    expect(await rawStatus(`${address}/metrics`, { host: 'evil.example' })).toBe(421);
    expect(await rawStatus(`${address}/metrics`, { method: 'POST' })).toBe(405);
    expect(await rawStatus(`${address}/`)).toBe(404);
  });
});

it('run --json-logs logs only JSON lines, from start to end', async () => {
  const { stderr } = await whileRunning(async () => undefined, ' --json-logs --verbose');

  const lines = stderr
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines[0]).toMatchObject({ level: 'info', time: expect.any(String) });
  expect(lines[0].message).toContain('1 partner account (main)');
  expect(lines.at(-1).message).toBe('No changes.');
});
