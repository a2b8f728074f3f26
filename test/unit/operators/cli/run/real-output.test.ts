/** Standard output over real pipes and a small file system. */
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { lineOutputOf } from '../../../../../operators/cli/run/line-output.ts';
import { quick, startConnected } from '../local-bridge.ts';
import { newFolder } from '../run-cli.ts';
import { advertsIn, bridge, canMount, fill, linesIn, shell, smallDisk } from './in-shell.ts';

/** How many the run has published. */
const eventsOf = async (status: Awaited<ReturnType<typeof startConnected>>['status']) =>
  (await status()).partnerAccounts[0].books.events;

/** Also if its last line is not whole yet. */
const idsIn = (file: string) => new Set(readFileSync(file, 'utf8').match(/(?<="advertId":")\d+/g)).size;

describe.skipIf(process.platform === 'win32')('a consumer of standard output that dies', () => {
  it('a dying consumer loses only what the next run writes again', async () => {
    const { sandbox, dir } = await startConnected();
    sandbox.control.createAdverts(200);
    const [first, second] = ['first', 'second'].map((name) => path.join(newFolder(), name)) as [
      string,
      string,
    ];
    const run = `${bridge} run --local ${dir} ${quick}`;

    await shell(`${run} | (head -n 3; sleep 0.3) > ${first}`).ended;
    expect(await shell(`${run} --until-idle > ${second}`).ended).toMatchObject({ code: 0 });

    expect(linesIn(first)).toHaveLength(3);
    expect(advertsIn(linesIn(first, second)).size).toBe(200);
  });
});

it.each(['w', 'a'])('a file opened with %s has no gap when a rotation truncates it', async (flags) => {
  const file = path.join(newFolder(), 'events.ndjson');
  const fd = openSync(file, flags);
  onTestFinished(() => closeSync(fd));
  const { write } = lineOutputOf(Object.assign(new PassThrough(), { fd }));
  await write(Buffer.from('one\n'));
  truncateSync(file);
  for (const line of ['two\n', 'three\n']) await write(Buffer.from(line));

  expect(readFileSync(file, 'utf8')).toBe('two\nthree\n');
});

/** A named pipe whose reader is stopped before it reads: it goes on with SIGCONT. */
async function stoppedReader() {
  const folder = newFolder();
  const [pipe, file] = [path.join(folder, 'pipe'), path.join(folder, 'file')];
  execFileSync('mkfifo', [pipe]);
  // Both ends are open, so that the pipe outlives the run that writes to it.
  const reader = shell(`exec 3<> ${pipe}; echo open >&2; kill -STOP $$; exec cat <&3 > ${file}`);
  await reader.said(/open/);
  return { pipe, file, goOn: () => reader.kill('SIGCONT') };
}

describe.skipIf(process.platform === 'win32')('a consumer that stands still', () => {
  it('a slow consumer gets whole lines after a killed run and another', async () => {
    const { sandbox, dir, status } = await startConnected();
    const { pipe, file, goOn } = await stoppedReader();
    sandbox.control.createAdverts(200);
    const run = `exec ${bridge} run --local ${dir} ${quick}`;
    const killed = shell(`${run} > ${pipe}`);
    await expect.poll(() => eventsOf(status), { timeout: 20_000 }).toBe(200);
    killed.kill('SIGKILL');
    await killed.ended;
    goOn();
    expect(await shell(`${run} --until-idle > ${pipe}`).ended).toMatchObject({ code: 0 });

    await expect.poll(() => idsIn(file), { timeout: 20_000 }).toBe(200);
    expect(advertsIn(linesIn(file)).size).toBe(200);
  });

  it('a slow consumer does not hold SIGTERM, and gets the rest next time', async () => {
    const { sandbox, dir, status } = await startConnected();
    const { pipe, file, goOn } = await stoppedReader();
    sandbox.control.createAdverts(200);
    const run = `exec ${bridge} run --local ${dir} ${quick}`;
    const first = shell(`${run} > ${pipe}`);
    await expect.poll(() => eventsOf(status), { timeout: 20_000 }).toBe(200);
    first.kill('SIGTERM');
    expect(await first.ended).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('standard output did not take all events'),
    });
    goOn();
    expect(await shell(`${run} --until-idle > ${pipe}`).ended).toMatchObject({ code: 0 });
    await expect.poll(() => idsIn(file), { timeout: 20_000 }).toBe(200);
  });
});

describe.skipIf(!canMount)('standard output on a disk that is full', () => {
  it('a full disk gets each event on its own line when there is room again', async () => {
    const { sandbox, dir, status } = await startConnected();
    const disk = smallDisk(512);
    const ballast = fill(disk, 8);
    const file = path.join(disk, 'events');
    sandbox.control.createAdverts(100);
    const running = shell(`exec ${bridge} run --local ${dir} ${quick} >> ${file}`);
    await expect
      .poll(async () => (await status()).findings.map(({ what }: { what: string }) => what), {
        timeout: 20_000,
      })
      .toEqual(['output']);
    rmSync(ballast);
    await expect.poll(async () => (await status()).findings, { timeout: 20_000 }).toEqual([]);
    running.kill('SIGTERM');
    expect(await running.ended).toMatchObject({ code: 0 });

    expect(linesIn(file)).toHaveLength(100);
    expect(advertsIn(linesIn(file)).size).toBe(100);
  });

  it('a torn line ends before the events of the next run', async () => {
    const { sandbox, dir } = await startConnected();
    const disk = smallDisk(512);
    const ballast = fill(disk, 8);
    const file = path.join(disk, 'events');
    sandbox.control.createAdverts(100);
    const run = `${bridge} run --local ${dir} ${quick} --until-idle >> ${file}`;
    expect(await shell(run).ended).toMatchObject({ code: 1, stderr: expect.stringContaining('ENOSPC') });
    rmSync(ballast);
    expect(await shell(run).ended).toMatchObject({ code: 0 });

    const whole = linesIn(file).filter((line) => line.endsWith('}}}'));
    expect(advertsIn(whole).size).toBe(100);
    expect(linesIn(file).length - whole.length).toBe(1);
  });

  it('tail ends with 1 when its disk is full', async () => {
    const { sandbox, dir, runUntilIdle } = await startConnected();
    const disk = smallDisk(512);
    fill(disk, 4);
    const tail = shell(`exec ${bridge} tail --local ${dir} > ${path.join(disk, 'output')}`);
    await tail.said(/No bridge runs/);
    sandbox.control.createAdverts(20);
    await runUntilIdle();

    expect(await tail.ended).toMatchObject({ code: 1, stderr: expect.stringContaining('ENOSPC') });
  });

  it.each(['snapshot', 'history main ADVERT --json'])(
    '%s ends with 1 when the disk is full',
    async (command) => {
      const { sandbox, dir, runUntilIdle } = await startConnected();
      const [id = ''] = sandbox.control.createAdverts(100);
      await runUntilIdle();
      const disk = smallDisk(512);
      fill(disk, command === 'snapshot' ? 8 : 0);
      const args = command.replace('ADVERT', id);

      const { ended } = shell(`${bridge} ${args} --local ${dir} > ${path.join(disk, 'output')}`);

      expect(await ended).toMatchObject({ code: 1, stderr: expect.stringContaining('ENOSPC') });
    },
  );
});
