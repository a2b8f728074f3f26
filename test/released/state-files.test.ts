/** Each file is the state of an embedded bridge, as `iterdump` of Python's sqlite3 shows what that release has stored. */
import { chmodSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { stateFileIn } from '../../embedded/state/file/private-folder.ts';
import { openEmbeddedState } from '../../embedded/state/state.ts';
import { scratchFolders } from '../helpers/scratch-folder.ts';

const newFolder = scratchFolders();
const dumps = readdirSync(import.meta.dirname).filter((file) => file.endsWith('.sql'));

it.each(dumps)('every row that release %s has stored can be read', async (file) => {
  const dir = newFolder();
  const db = new DatabaseSync(stateFileIn(dir));
  db.exec(readFileSync(path.join(import.meta.dirname, file), 'utf8'));
  db.close();
  chmodSync(stateFileIn(dir), 0o600);

  const state = openEmbeddedState(dir, { clock: { now: () => Date.parse('2030-01-01T00:00:00Z') } });

  const [account] = await state.partnerAccounts.list();
  const of = { partnerAccount: 'main', generation: account?.generation ?? 0 };
  const received = await state.queue.receive({ maxGroups: 9, maxPerGroup: 9, visibilityMs: 1 });
  const webhooks = state.webhooks.list();
  const found = {
    cursor: (await state.feedStates.list()).map(({ cursor }) => typeof cursor),
    refreshToken: (await state.vault.read('main', account?.token?.version))?.pair.refreshToken.reveal(),
    waiting: received.map(({ message }) => message?.advertId),
    dead: (await state.deadLetters.list()).map(({ message }) => message?.advertId),
    books: await state.bookKeeper.read(of.partnerAccount, of.generation),
    events: (await state.advertHistories.page(of)).envelopes.length,
  };
  await state.close();
  expect(webhooks).toHaveLength(1);
  expect(found).toMatchObject({
    ...{ cursor: ['string'], refreshToken: 'sandbox-refresh-token-main', waiting: ['1008', '1005'] },
    ...{ dead: ['1007'], events: 4, books: { listed: 10, inFlight: 2 } },
  });
});
