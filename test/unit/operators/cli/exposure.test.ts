import { chmodSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { startConnected } from './local-bridge.ts';

it('a file that others can reach is warned of and made private', async () => {
  const { dir, application, run } = await startConnected();
  const file = path.join(dir, 'bridge.db');
  expect((await run('run --until-idle')).stderr).not.toContain('Warning');

  chmodSync(file, 0o640);
  expect((await run('run --until-idle')).stderr).toContain(`other users of this machine can read ${file}`);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  // It stays named until the credentials were renewed.
  expect((await run('status')).stderr).toContain('Warning');
  await application();
  expect((await run('status')).stderr).not.toContain('Warning');
});
