import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { reusedHistories } from '../../../../embedded/state/file/published-mark.ts';
import { type Local, startConnected } from './local-bridge.ts';

const untilIdle = 'run --until-idle --max-requests-per-second 1000';

/** A bridge that has published, with its state from before in place of the latest. */
async function restored(): Promise<Local> {
  const local = await startConnected();
  const { sandbox, dir, run } = local;
  const [advert] = sandbox.control.truth();
  const file = path.join(dir, 'bridge.db');
  sandbox.control.setStatus(advert?.id ?? '', 'limited');
  await run(untilIdle);
  copyFileSync(file, `${dir}.copy`);
  sandbox.control.setStatus(advert?.id ?? '', 'active');
  expect((await run(untilIdle)).exitCode).toBe(0);
  copyFileSync(`${dir}.copy`, file);
  // As if a second had passed since the account was connected.
  const [{ generation }] = (await local.status()).partnerAccounts;
  const mark = path.join(dir, 'published.json');
  const { event } = JSON.parse(readFileSync(mark, 'utf8'));
  writeFileSync(mark, JSON.stringify({ event, at: (generation + 1) * 1000 }));
  return local;
}

it('run refuses an older copy, as status says, until a new history begins', async () => {
  const { run, status } = await restored();

  expect(await run(untilIdle)).toMatchObject({
    exitCode: 1,
    stdout: '',
    stderr: expect.stringMatching(/older copy.*connect --all --new-history/s),
  });
  expect((await status()).findings).toMatchObject([{ what: 'older-copy', severity: 'fault' }]);
  const { checks } = JSON.parse((await run('doctor --json')).stdout);
  expect(checks).toContainEqual(expect.objectContaining({ name: 'run', result: 'fault' }));

  await run('connect --all --new-history --since 2026-01-01T00:00:00Z');
  expect((await run(untilIdle)).exitCode).toBe(0);
  expect((await status()).findings).toMatchObject([{ what: 'not-running' }]);
});

it('run warns and goes on when a missing mark hides an older copy', async () => {
  const { dir, run } = await restored();
  rmSync(path.join(dir, 'published.json'));

  expect(await run(untilIdle)).toMatchObject({
    exitCode: 0,
    stderr: expect.stringContaining('older copy'),
  });
  expect((await run(untilIdle)).stderr).not.toContain('older copy');
});

it.each([
  ['none in the latest state', 9, 100, []],
  ['none whose history began after the mark', 8, 101, []],
  ['those that began before', 8, 99, [{ generation: 99 }]],
])('the histories with used numbers are %s', (_, last, generation, expected) => {
  expect(reusedHistories({ event: 9, at: 100_500 }, last, [{ generation }])).toEqual(expected);
});
