import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { stateFileIn } from '../../embedded/state/file/private-folder.ts';
import { openEmbeddedState } from '../../embedded/state/state.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { applicationSecretSuite } from './application-secret.suite.ts';
import { asideSuite } from './aside.suite.ts';
import { booksSuite } from './books.suite.ts';
import { changedAdvertsQueueSuite } from './changed-adverts-queue.suite.ts';
import { storeSuite } from './store.suite.ts';
import { tokenVaultSuite } from './token-vault.suite.ts';

const name = 'sqlite';

async function make() {
  const dir = mkdtempSync(path.join(tmpdir(), 'bridge-'));
  const clock = createManualClock();
  const state = openEmbeddedState(dir, { clock });
  return {
    ...state,
    store: state.rows,
    advance: clock.advance,
    now: clock.now,
    dir,
    edit: (partnerAccount: string, text: string) =>
      change(
        dir,
        "UPDATE rows SET value = json_set(value, '$[0].pair', ?) WHERE kind = 'tokens' AND name = ?",
        text,
        partnerAccount,
      ),
    async cleanUp() {
      state.close();
      rmSync(dir, { recursive: true });
    },
  };
}

/** As another process would. */
function change(dir: string, sql: string, ...values: string[]): void {
  const db = new DatabaseSync(stateFileIn(dir));
  db.prepare(sql).run(...values);
  db.close();
}

storeSuite(name, make);
changedAdvertsQueueSuite(name, { controlsTime: true, deduplicates: false }, make);
asideSuite(name, make);
booksSuite(name, make);
tokenVaultSuite(name, make);
applicationSecretSuite(name, async (text) => {
  const state = await make();
  if (text !== undefined)
    change(
      state.dir,
      "INSERT INTO rows (kind, name, etag, value) VALUES ('document', 'application', '', json_quote(?))",
      text,
    );
  return state;
});
