import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { createConnection } from '../../../../embedded/state/file/connection.ts';
import { openStateFile } from '../../../../embedded/state/file/state-file.ts';
import { openEmbeddedState, stateOver } from '../../../../embedded/state/state.ts';
import { Secret } from '../../../../shared/domain/secret.ts';
import { tokenPair } from '../../../helpers/records.ts';
import { scratchFolders } from '../../../helpers/scratch-folder.ts';

const folder = scratchFolders();

it('each change of a credential waits for the disk', async () => {
  const connection = createConnection(openStateFile(folder()), 'the file');
  const write = vi.spyOn(connection, 'write');
  const { vault, applicationSecret, webhooks, close } = stateOver(connection, Date);
  const url = 'https://one.example/';

  await vault.write('main', tokenPair());
  await vault.remove('main');
  await applicationSecret.write({ clientId: new Secret('client'), clientSecret: new Secret('hush') });
  await webhooks.setUp(url, { secret: new Secret('hush'), keepOld: false });
  await webhooks.forget(url);

  expect(write.mock.calls.map(([, options]) => options?.durable)).toEqual(Array(5).fill(true));
  close();
});

const canMount = (() => {
  try {
    execFileSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'none', '/mnt'], { stdio: 'ignore' });
    return process.getuid?.() === 0;
  } catch {
    return false;
  }
})();

/** A file system of its own. @returns its folder, and what takes its last byte */
function smallDisk() {
  const disk = mkdtempSync(path.join(tmpdir(), 'bridge-disk-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'none', disk]);
  onTestFinished(() => {
    execFileSync('umount', ['-l', disk]);
    rmdirSync(disk);
  });
  const fill = () => {
    const { bavail, bsize } = statfsSync(disk);
    writeFileSync(path.join(disk, `ballast-${bavail}`), Buffer.alloc(bavail * bsize));
  };
  return { dir: path.join(disk, 'bridge'), fill };
}

it.skipIf(!canMount)('a new pair is stored when the disk fills up after the request', async () => {
  const { dir, fill } = smallDisk();
  const { vault, close } = openEmbeddedState(dir);
  onTestFinished(close);
  await vault.reserve?.();
  fill();
  const version = await vault.write('main', tokenPair());

  expect((await vault.read('main'))?.version).toBe(version);
});

it.skipIf(!canMount)('no room can be reserved when the disk is full already', async () => {
  const { dir, fill } = smallDisk();
  const { vault, close } = openEmbeddedState(dir);
  onTestFinished(close);
  fill();

  await expect(vault.reserve?.()).rejects.toMatchObject({ code: 'state-full' });
});
