/** A run whose state is on a disk that gets full. */
import { cpSync, rmSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { quick, startConnected } from '../local-bridge.ts';
import { cli, newFolder } from '../run-cli.ts';
import { advertsIn, bridge, canMount, fill, linesIn, shell, smallDisk } from './in-shell.ts';

/** A run whose disk is full, with 300 new adverts. */
async function startOnFullDisk() {
  const { sandbox, dir } = await startConnected();
  const disk = smallDisk(8_192);
  const state = path.join(disk, 'state');
  cpSync(dir, state, { recursive: true });
  const events = path.join(newFolder(), 'events');
  const line = `exec ${bridge} run --local ${state} ${quick} --poll-seconds 1 --metrics 0 > ${events}`;
  const run = shell(line);
  const metrics = await run.said(/http:.*(?=\/metrics)/);
  const ballast = fill(disk, 32);
  sandbox.control.createAdverts(300);
  await run.said(/the disk of the state is full/);

  const status = async () => JSON.parse((await cli(`status --json --local ${state}`)).stdout);
  return {
    ...{ run, events, status, line, disk },
    findings: async () => (await status()).findings.map(({ what }: { what: string }) => what),
    health: async () => (await fetch(`${metrics}/health`)).text(),
    makeRoom: () => rmSync(ballast),
  };
}

describe.skipIf(!canMount)('a run on a full disk', () => {
  it('a run on a full disk waits and goes on when there is room', async () => {
    const { run, events, status, findings, health, makeRoom } = await startOnFullDisk();
    expect(await findings()).toEqual(['disk-full']);
    expect(await health()).toMatch(/Not delivering since .*: The disk of the state is full/);

    makeRoom();
    await run.said(/has room again/);
    await expect
      .poll(async () => (await status()).partnerAccounts[0].books.events, { timeout: 20_000 })
      .toBe(300);
    expect(await findings()).toEqual([]);
    run.kill('SIGTERM');

    expect(await run.ended).toMatchObject({ code: 0 });
    expect(advertsIn(linesIn(events)).size).toBe(300);
    expect(linesIn(events)).toHaveLength(300);
  });

  it('a run on a full disk ends with 1 at a signal', async () => {
    const { run, line, disk } = await startOnFullDisk();
    run.kill('SIGTERM');
    const full = { code: 1, stderr: expect.stringContaining('cannot be written, because its disk is full') };

    expect(await run.ended).toMatchObject(full);
    // Its log was removed at its end.
    fill(disk, 0);
    expect(await shell(line).ended).toMatchObject(full);
  });
});
