import { createAdvertHistories } from './advert-histories.ts';
import { createBackfills } from './backfills.ts';
import { createBooks } from './books.ts';
import { createBudgetStore } from './budget-store.ts';
import { createQueue } from './changed-adverts-queue.ts';
import { createDeadLetters } from './dead-letters.ts';
import { createFeedStates } from './feed-states.ts';
import { createDocuments } from './file/documents.ts';
import type { StateError } from './file/state-error.ts';
import { openStateFile, stateFileIn } from './file/state-file.ts';
import { createStore } from './file/store.ts';
import { createOutbox } from './outbox.ts';
import { createParked } from './parked-messages.ts';
import { createPartnerAccounts } from './partner-accounts.ts';
import { createApplicationSecret, createVault } from './token-vault.ts';

export interface EmbeddedStateOptions {
  /** Default: the machine's own. */
  readonly clock?: { now(): number };
  /** Told of each fault of the file, before whoever asked hears of it. */
  readonly onFault?: (fault: StateError) => void;
}

export type EmbeddedState = ReturnType<typeof openEmbeddedState>;

/**
 * All that an embedded bridge keeps, in the one file `DIR/bridge.db`. Several processes may have it open; only one may
 * run the bridge (run-lock.ts).
 *
 * @param dir made, for its owner alone, when it is not there
 * @throws {StateError} when it is damaged, not writable, or of a newer bridge; also from every method of what it returns
 */
export function openEmbeddedState(dir: string, { clock = Date, onFault }: EmbeddedStateOptions = {}) {
  const store = createStore(openStateFile(dir), stateFileIn(dir), onFault);
  const documents = createDocuments(store);
  const books = createBooks(store);
  const letters = createDeadLetters(store, books, clock);
  const { add: _within, ...deadLetters } = letters;
  const parked = createParked(store, clock);
  const { keep: _keep, ...releasable } = parked;
  return {
    feedStates: createFeedStates(store, books),
    partnerAccounts: createPartnerAccounts(store),
    advertHistories: createAdvertHistories(store),
    queue: createQueue({ store, books, deadLetters: letters, parked, clock }),
    parked: releasable,
    deadLetters,
    bookKeeper: books.keeper,
    backfills: createBackfills(store, documents),
    outbox: createOutbox(store, clock),
    vault: createVault(store),
    applicationSecret: createApplicationSecret(documents),
    budgetStore: createBudgetStore(store, documents),
    /** What was set for this folder, such as the base URL of the partner service. */
    settings: {
      read: (name: string): Promise<string | undefined> => documents.read(`setting/${name}`),
      write: (name: string, value: string): Promise<void> => documents.write(`setting/${name}`, value),
    },
    /** Writes what waits, then closes the file. */
    close: store.close,
  };
}
