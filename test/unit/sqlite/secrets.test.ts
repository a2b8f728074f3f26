import { describe, expect, it } from 'vitest';
import { Secret } from '../../../shared/domain/secret.ts';
import { createConnection } from '../../../shared/sqlite/file/connection.ts';
import { stateFileIn } from '../../../shared/sqlite/file/private-folder.ts';
import { openStateFile } from '../../../shared/sqlite/file/state-file.ts';
import {
  createApplicationSecret,
  createDocuments,
  createTokenVault,
} from '../../../shared/sqlite/secrets.ts';
import { tokenPair } from '../../helpers/records.ts';
import { scratchFolders } from '../../helpers/scratch-folder.ts';

const folder = scratchFolders();
const pair = tokenPair({
  accessToken: new Secret('access'),
  refreshToken: new Secret('refresh'),
  scope: 'v2 read write',
  obtainedAt: 1,
  expiresAt: 2,
});
/** `PRAGMA synchronous` of a commit that waits for the disk: https://sqlite.org/pragma.html#pragma_synchronous */
const full = 2;

/** The connection, and how each of its commits was made: `synchronous` as it stood when the change was. */
function watched() {
  const dir = folder();
  const db = openStateFile(dir);
  const connection = createConnection(db, stateFileIn(dir));
  const commits: unknown[] = [];
  const write: typeof connection.write = (change, options) =>
    connection.write(() => {
      commits.push(db.prepare('PRAGMA synchronous').get()?.synchronous);
      return change();
    }, options);
  return { connection: { ...connection, write }, commits };
}

describe('credentials in the state file', () => {
  it('wait for the disk whenever they change: the service has forgotten the token that was replaced', async () => {
    const { connection, commits } = watched();
    const vault = createTokenVault(connection);

    await vault.write('main', pair);
    await vault.write('main', { ...pair, refreshToken: new Secret('newer') });
    await vault.remove('main');
    await createApplicationSecret(createDocuments(connection)).write({
      clientId: new Secret('client'),
      clientSecret: new Secret('hush'),
    });

    expect(commits).toEqual([full, full, full, full]);
    connection.close();
  });
});
