/** What becomes of a run whose folder, process or machine is taken from under it. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it, vi } from 'vitest';
import { shortenWaits } from '../../../../helpers/short-waits.ts';
import { until } from '../../../../helpers/until.ts';
import { quick, startConnected } from '../local-bridge.ts';
import { start } from '../process.ts';
import { newFolder } from '../run-cli.ts';

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

it.each<[string, (dir: string) => unknown]>([
  ['the state file is deleted', inFolder(remove, 'bridge.db')],
  ['the state file is replaced', inFolder(replace, 'bridge.db')],
  ['the log of the state file is deleted', inFolder(remove, 'bridge.db-wal')],
  ['its lock is deleted', inFolder(remove, 'run.lock')],
  ['the folder is moved away', (dir) => renameSync(dir, `${dir}-moved`)],
])('run ends with 1 and says so when %s', async (_, take) => {
  const { begin, dir } = await startRun();
  const { ended } = await begin();

  take(dir);

  const { exitCode, stderr } = await ended;
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining('was deleted or replaced during this run')]);
});

it('run notes nothing as published in a folder put in place of its own', async () => {
  const { begin, dir } = await startRun();
  const { ended } = await begin();

  renameSync(dir, `${dir}-moved`);
  cpSync(`${dir}-moved`, dir, { recursive: true, filter: (file) => !file.includes('published.json') });

  expect((await ended).exitCode).toBe(1);
  expect(existsSync(path.join(dir, 'published.json'))).toBe(false);
});

it('status names a run that stands still, and no other cause', async () => {
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

/**
 * Copies the state whenever it is on the disk as a whole: after a commit that waits for the disk and has something to
 * write. By other processes, as closing the file in this one would end its locks.
 */
function watchDisk(dir: string) {
  const names = ['bridge.db', 'bridge.db-wal'];
  const disk = newFolder();
  const copyTo = (place: string) => {
    const there = names.map((name) => path.join(dir, name)).filter((file) => existsSync(file));
    execFileSync('cp', [...there, place]);
    return readFileSync(path.join(place, names.at(-1) ?? ''), { flag: 'a+' });
  };
  copyTo(disk);
  const { exec } = DatabaseSync.prototype;
  let before: Buffer | undefined;
  vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (this: DatabaseSync, sql) {
    if (sql === 'PRAGMA synchronous=FULL') before = copyTo(newFolder());
    exec.call(this, sql);
    const after = newFolder();
    if (sql === 'PRAGMA synchronous=NORMAL' && before && !copyTo(after).equals(before))
      cpSync(after, disk, { recursive: true });
  });
  /** As the machine finds the folder after a power cut. */
  return () => {
    for (const name of [...names, 'bridge.db-shm']) rmSync(path.join(dir, name), { force: true });
    cpSync(disk, dir, { recursive: true });
  };
}

it('run continues after a power cut that took what was not on the disk', async () => {
  const { begin, dir, run, inState } = await startRun();
  const mark = path.join(dir, 'published.json');
  const first = await begin();
  first.stop();
  await first.ended;
  const cutPower = watchDisk(dir);
  const { event: before } = JSON.parse(readFileSync(mark, 'utf8'));
  const { ended, stop } = await begin();

  await until('the mark names the event', () => JSON.parse(readFileSync(mark, 'utf8')).event > before);
  const { event } = JSON.parse(readFileSync(mark, 'utf8'));
  stop();
  await ended;
  cutPower();
  const [{ generation = 0 } = {}] = await inState(({ partnerAccounts }) =>
    partnerAccounts.list(() => undefined),
  );
  // As if a second had passed since the account was connected.
  writeFileSync(mark, JSON.stringify({ event, at: (generation + 1) * 1000 }));

  expect(await run(`run --until-idle ${quick}`)).toMatchObject({
    exitCode: 0,
    stderr: expect.not.stringContaining('older copy'),
  });
});
