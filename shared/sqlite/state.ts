import { createActivityStore } from '../state/activity.ts';
import { createAdvertHistories } from '../state/advert-histories.ts';
import { createAside, createDeadLetters } from '../state/aside.ts';
import { readBooks } from '../state/books.ts';
import { createBudgetStore } from '../state/budget.ts';
import { createFeedStates } from '../state/feed-states.ts';
import { createPartnerAccounts } from '../state/partner-accounts.ts';
import {
  type AuditProgress,
  type AuditShare,
  type BackfillProgress,
  createProgress,
} from '../state/progress.ts';
import { createChangedAdvertsQueue } from './changed-adverts-queue.ts';
import { createEventLog } from './event-log.ts';
import { type Connection, createConnection } from './file/connection.ts';
import { stateFileIn } from './file/private-folder.ts';
import type { StateError } from './file/state-error.ts';
import { openStateFile, openStateFileToRead } from './file/state-file.ts';
import { createWaitingMessages } from './messages.ts';
import { createApplicationSecret, createDocuments, createTokenVault } from './secrets.ts';
import { createRowStore } from './store.ts';
import { createWebhooks } from './webhooks.ts';

export interface EmbeddedStateOptions {
  /** Default: the machine's clock. */
  readonly clock?: { now(): number };
  /** Called with each fault of the file, before the caller receives it. */
  readonly onFault?: (fault: StateError) => void;
}

export type EmbeddedState = ReturnType<typeof stateOver>;

/**
 * Opens the state of an embedded bridge: all ports on the one file `DIR/bridge.db`. Several processes may open it; only
 * one may run the bridge (run-lock.ts).
 *
 * @param dir is created if it does not exist, accessible only to its owner
 * @throws {StateError} when the file is damaged, not writable, or from a newer bridge; every method of the result may
 * throw it too
 */
export const openEmbeddedState = (dir: string, { clock = Date, onFault }: EmbeddedStateOptions = {}) =>
  stateOver(createConnection(openStateFile(dir), stateFileIn(dir), onFault), clock);

/**
 * The same for reading only: no byte of the folder changes, and every writing method fails.
 *
 * @throws {StateError} also when there is no state, and `state-outdated`
 */
export const openEmbeddedStateToRead = (dir: string): EmbeddedState =>
  stateOver(createConnection(openStateFileToRead(dir), stateFileIn(dir)), Date);

/** The queue counts the messages that it accepts. */
const uncounted = { countsListed: false };

/** All ports on one database. */
export function stateOver(connection: Connection, clock: { now(): number }) {
  const rowStore = createRowStore(connection);
  const { addWithin: _add, putWithin: _put, removeWithin: _remove, ...rows } = rowStore;
  const aside = createAside(rows);
  const advertHistories = createAdvertHistories(rows);
  const documents = createDocuments(connection);
  const eventLog = createEventLog(connection, clock);
  const queue = createChangedAdvertsQueue({ connection, rows: rowStore, clock });
  return {
    rows,
    feedStates: createFeedStates(rows, uncounted),
    partnerAccounts: createPartnerAccounts(rows),
    advertHistories,
    queue,
    aside,
    waitingMessages: createWaitingMessages(connection, aside),
    deadLetters: createDeadLetters(rows),
    bookKeeper: {
      read: (partnerAccount: string, generation: number) => readBooks(rows, partnerAccount, generation),
      queue: queue.figures,
    },
    audits: createProgress<AuditProgress>(rows, 'audit', uncounted),
    auditShares: createProgress<AuditShare>(rows, 'audit-share', uncounted),
    backfills: createProgress<BackfillProgress>(rows, 'backfill', uncounted),
    publishedAdverts: advertHistories,
    eventLog,
    webhooks: createWebhooks(connection, eventLog),
    vault: createTokenVault(connection),
    applicationSecret: createApplicationSecret(documents),
    budgetStore: createBudgetStore(rows),
    activity: createActivityStore(rows),
    /** Settings of this folder, such as the base URL of the partner service. */
    settings: {
      read: (name: string): Promise<string | undefined> => documents.read(`setting/${name}`),
      write: (name: string, value: string): Promise<void> => documents.write(`setting/${name}`, value),
    },
    /** Commits pending changes, then closes the file. */
    close: connection.close,
  };
}
