/** What becomes of a run whose folder or process is taken from under it. */
import { copyFileSync, cpSync, existsSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { shortenWaits } from '../../../helpers/short-waits.ts';
import { quick, startConnected } from '../local-bridge.ts';
import { start } from '../process.ts';

/** A bridge, and a run of it in this process that has published an event. */
async function startRun() {
  const local = await startConnected();
  shortenWaits(20);
  const begin = async () => {
    local.sandbox.control.createAdverts(1, { status: 'new' });
    const stop = new AbortController();
    const published = Promise.withResolvers<void>();
    const onOutput = (text: string) => text.startsWith('{') && published.resolve();
    const ended = local.run(`run ${quick}`, { signal: stop.signal, onOutput });
    await Promise.race([published.promise, ended]);
    return { ended, stop: () => stop.abort() };
  };
  return { ...local, begin };
}

const inFolder = (act: (file: string) => unknown, name: string) => (dir: string) => act(path.join(dir, name));
const remove = (file: string) => rmSync(file);
const replace = (file: string) => {
  copyFileSync(file, `${file}.copy`);
  renameSync(`${file}.copy`, file);
};

describe('run ends with 1 and says so', () => {
  it.each<[string, (dir: string) => unknown]>([
    ['the state file is deleted', inFolder(remove, 'bridge.db')],
    ['the state file is replaced', inFolder(replace, 'bridge.db')],
    ['the log of the state file is deleted', inFolder(remove, 'bridge.db-wal')],
    ['its lock is deleted', inFolder(remove, 'run.lock')],
    ['the folder is moved away', (dir) => renameSync(dir, `${dir}-moved`)],
  ])('when %s', async (_, take) => {
    const { begin, dir } = await startRun();
    const { ended } = await begin();

    take(dir);

    const { exitCode, stderr } = await ended;
    expect([exitCode, stderr]).toEqual([
      1,
      expect.stringContaining('was deleted or replaced during this run'),
    ]);
  });
});

it('run notes nothing as published in a folder that was put in place of its own', async () => {
  const { begin, dir } = await startRun();
  const { ended } = await begin();

  renameSync(dir, `${dir}-moved`);
  cpSync(`${dir}-moved`, dir, { recursive: true, filter: (file) => !file.includes('published.json') });

  expect((await ended).exitCode).toBe(1);
  expect(existsSync(path.join(dir, 'published.json'))).toBe(false);
});

it('status names a run that stands still, with its process, and no other cause', async () => {
  const { sandbox, dir, run } = await startConnected();
  sandbox.control.createAdverts(1);
  const { child } = start(`run --local ${dir}`);
  await new Promise((resolve) => child.stdout.once('data', resolve));

  child.kill('SIGSTOP');
  sandbox.control.createAdverts(1);
  const now = Date.now();
  vi.spyOn(Date, 'now').mockImplementation(() => now + 300_000);
  const [text, json] = [await run('status'), JSON.parse((await run('status --json')).stdout)];
  const { checks } = JSON.parse((await run('doctor --json')).stdout);

  const process = new RegExp(
    `^Not delivering since \\S+Z: The run \\(pid ${child.pid} since \\S+Z .*\\) stands still`,
  );
  expect(text).toMatchObject({ exitCode: 3, stdout: expect.stringMatching(process) });
  expect(json.findings.map(({ what }: { what: string }) => what)).toEqual(['not-responding']);
  expect(json.standstill.run).toContain(`pid ${child.pid}`);
  expect(checks).toContainEqual(
    expect.objectContaining({ name: 'run', result: 'fault', says: expect.stringContaining('stands still') }),
  );
});
