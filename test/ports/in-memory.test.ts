import { createInMemoryState } from '../fakes/state.ts';
import { createInMemoryStore } from '../fakes/store.ts';
import { createInMemoryApplicationSecret } from '../fakes/token-vault.ts';
import { createManualClock } from '../helpers/manual-clock.ts';
import { applicationSecretSuite } from './application-secret.suite.ts';
import { asideSuite } from './aside.suite.ts';
import { booksSuite } from './books.suite.ts';
import { changedAdvertsQueueSuite } from './changed-adverts-queue.suite.ts';
import { storeSuite } from './store.suite.ts';
import { tokenVaultSuite } from './token-vault.suite.ts';

const name = 'in memory';

async function make() {
  const clock = createManualClock();
  const state = createInMemoryState({ clock });
  return { ...state, edit: state.vault.edit, advance: clock.advance, now: clock.now };
}

storeSuite(name, async () => ({ store: createInMemoryStore() }));
changedAdvertsQueueSuite(name, { controlsTime: true, deduplicates: true }, make);
asideSuite(name, make);
booksSuite(name, make);
tokenVaultSuite(name, make);
applicationSecretSuite(name, async (text) => ({ applicationSecret: createInMemoryApplicationSecret(text) }));
