import { expect, it, vi } from 'vitest';
import { Secret } from '../../../shared/domain/secret.ts';
import { createConnection } from '../../../shared/sqlite/file/connection.ts';
import { openStateFile } from '../../../shared/sqlite/file/state-file.ts';
import { stateOver } from '../../../shared/sqlite/state.ts';
import { tokenPair } from '../../helpers/records.ts';
import { scratchFolders } from '../../helpers/scratch-folder.ts';

const folder = scratchFolders();

it('each change of a credential waits for the disk: the service forgot the replaced token', async () => {
  const connection = createConnection(openStateFile(folder()), 'the file');
  const write = vi.spyOn(connection, 'write');
  const { vault, applicationSecret, webhooks, close } = stateOver(connection, Date);
  const url = 'https://one.example/';

  await vault.write('main', tokenPair());
  await vault.remove('main');
  await applicationSecret.write({ clientId: new Secret('client'), clientSecret: new Secret('hush') });
  await webhooks.setUp(url, { secret: new Secret('hush'), keepOld: false });
  await webhooks.forget(url);

  expect(write.mock.calls.map(([, options]) => options)).toEqual(Array(5).fill({ durable: true }));
  close();
});
