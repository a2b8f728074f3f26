import type { Store } from '../ports/store.ts';
import { createActivityStore } from '../state/activity.ts';
import { createAdvertHistories } from '../state/advert-histories.ts';
import { createAside, createDeadLetters } from '../state/aside.ts';
import { type BookKeeper, readBooks } from '../state/books.ts';
import { createBudgetStore } from '../state/budget.ts';
import { createFeedStates } from '../state/feed-states.ts';
import { createPartnerAccounts } from '../state/partner-accounts.ts';
import {
  type AuditProgress,
  type AuditShare,
  type BackfillProgress,
  createProgress,
} from '../state/progress.ts';
import {
  createChangedAdvertsQueue,
  createMessageTable,
  createWaitingMessages,
} from './changed-adverts-queue.ts';
import { createEventLog } from './event-log.ts';
import { type Connection, createConnection } from './file/connection.ts';
import { stateFileIn } from './file/private-folder.ts';
import type { StateError } from './file/state-error.ts';
import { openStateFile, openStateFileToRead } from './file/state-file.ts';
import { createDocuments, createTokenVault } from './secrets.ts';
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
 * Opens the state of an embedded bridge, and creates it if it does not exist. Several processes may open it; only one may
 * run the bridge (run-lock.ts).
 *
 * @throws {StateError} every method of the result may throw it too
 */
export const openEmbeddedState = (dir: string, { clock = Date, onFault }: EmbeddedStateOptions = {}) =>
  stateOver(createConnection(openStateFile(dir), stateFileIn(dir), onFault), clock);

/** The same for reading only: every writing method fails. @throws {StateError} also when there is no state */
export const openEmbeddedStateToRead = (dir: string): EmbeddedState =>
  stateOver(createConnection(openStateFileToRead(dir), stateFileIn(dir)), Date);

/** All ports on one database. */
export function stateOver(connection: Connection, clock: { now(): number }) {
  const rows = createRowStore(connection);
  const eventLog = createEventLog(connection, rows, clock);
  const table = createMessageTable(connection);
  const queue = createChangedAdvertsQueue({ connection, table, rows, clock, takesTurns: true });
  const ports = rowPorts(rows, queue);
  return {
    rows: rows as Store,
    ...{ ...ports, queue, eventLog },
    ...createDocuments(connection, rows),
    waitingMessages: createWaitingMessages(connection, table, ports.aside),
    webhooks: createWebhooks(connection, rows, eventLog),
    vault: createTokenVault(connection, rows),
    /** Commits pending changes, then closes the file. */
    close: connection.close,
  };
}

/** The ports that are rows of the store alone. */
export function rowPorts(rows: Store, { figures }: { readonly figures: BookKeeper['queue'] }) {
  const advertHistories = createAdvertHistories(rows);
  return {
    ...{ advertHistories, publishedAdverts: advertHistories },
    aside: createAside(rows),
    feedStates: createFeedStates(rows),
    partnerAccounts: createPartnerAccounts(rows),
    deadLetters: createDeadLetters(rows),
    bookKeeper: {
      read: (partnerAccount: string, generation: number) => readBooks(rows, partnerAccount, generation),
      queue: figures,
    },
    audits: createProgress<AuditProgress>(rows, 'audit'),
    auditShares: createProgress<AuditShare>(rows, 'audit-share'),
    backfills: createProgress<BackfillProgress>(rows, 'backfill'),
    budgetStore: createBudgetStore(rows),
    activity: createActivityStore(rows),
  };
}
