/** Tests the statements of docs/operate/backup.md about an embedded bridge, with the commands from that page. */
import { spawnSync } from 'node:child_process';
import { mkdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Processes } from '../../../deploy/emulator/processes.ts';
import { heldOf } from '../../../deploy/stack/histories.ts';
import { shellOf } from '../../../deploy/stack/shell.ts';
import { startLocal } from './local-bridge.ts';
import { cli, newFolder } from './run-cli.ts';

const hasSqlite = spawnSync('sqlite3', ['--version']).status === 0;

it.skipIf(!hasSqlite)('a subscriber ends up right when a copy replaces what was lost', async () => {
  const { sandbox } = await startLocal();
  const { control } = sandbox;
  const folder = newFolder();
  const state = path.join(folder, 'shell', 'state');
  const copy = path.join(folder, 'copy.db');
  const processes = new Processes();
  onTestFinished(() => processes.stopAll());
  const env = { PATH: process.env.PATH ?? '', HOME: folder };
  const { follow } = await shellOf({ env, processes, folder }, 'docs/operate/backup.md');
  const run = (args: string, stdin?: string) =>
    cli([...args.split(' '), '--local', state], stdin === undefined ? {} : { stdin });
  const received: Record<string, unknown>[] = [];
  const publish = async () => {
    const { stdout } = await run('run --until-idle --max-requests-per-second 1000');
    received.push(
      ...stdout
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line)),
    );
  };
  const [first = '', second = '', third = ''] = control.truth().map(({ id }) => id);
  await mkdir(state, { mode: 0o700 });
  await run(
    `application --base-url ${sandbox.url} --client-id sandbox-client --client-secret-stdin`,
    'sandbox-client-secret',
  );
  await run('connect main --refresh-token-stdin', 'sandbox-refresh-token-main');
  for (const id of [first, second]) control.setStatus(id, 'active');
  await publish();

  await follow('copy-local', { COPY: copy });
  control.setStatus(first, 'limited');
  await publish();
  const since = new Date(Date.now() - 60_000).toISOString();
  for (const id of [first, third]) control.setStatus(id, 'unpaid');
  await follow('restore-local', { COPY: copy, NAME: 'main', TIME: since });
  await publish();

  for (const file of [copy, path.join(state, 'bridge.db')])
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await run('doctor')).exitCode).toBe(0);
  const truth = control.truth().map(({ id, status }) => [id, status]);
  expect(heldOf(received, 'main')).toEqual({
    statuses: Object.fromEntries(truth),
    generations: new Set([expect.any(Number), expect.any(Number)]),
  });
});
