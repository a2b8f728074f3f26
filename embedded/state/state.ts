import type { Store } from '../../shared/ports/store.ts';
import { bookKeeperOf } from '../../shared/state/books.ts';
import { rowPorts } from '../../shared/state/row-ports.ts';
import { createChangedAdvertsQueue, createMessageTable } from './changed-adverts-queue.ts';
import { createEventLog, linesReader } from './event-log.ts';
import { type Connection, createConnection } from './file/connection.ts';
import { reserveFileIn, stateFileIn } from './file/private-folder.ts';
import { createReserve, noReserve } from './file/reserve.ts';
import { freeWhatWasHeld } from './file/run-lock.ts';
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
  stateOver(
    createConnection(openStateFile(dir), stateFileIn(dir), onFault),
    clock,
    createReserve(reserveFileIn(dir)),
  );

/** The same for reading only: every writing method fails. @throws {StateError} also when there is no state */
export const openEmbeddedStateToRead = (dir: string): EmbeddedState =>
  stateOver(createConnection(openStateFileToRead(dir), stateFileIn(dir)), Date);

const published = { kind: 'document', name: 'published' } as const;

export function stateOver(connection: Connection, clock: { now(): number }, reserve = noReserve) {
  const rows = createRowStore(connection);
  const eventLog = createEventLog(connection, rows, clock);
  const table = createMessageTable(connection);
  const queue = createChangedAdvertsQueue({ connection, table, rows, clock, takesTurns: true });
  const ports = rowPorts(rows);
  return {
    rows: rows as Store,
    ...ports,
    queue,
    eventLog,
    aside: { ...ports.aside, believe: queue.believe },
    deadLetters: { ...ports.deadLetters, redrive: queue.redrive },
    bookKeeper: bookKeeperOf(rows, queue.figures),
    ...createDocuments(connection, rows),
    webhooks: createWebhooks(connection, rows, eventLog),
    vault: createTokenVault(connection, rows, { reserve }),
    /** Why standard output takes no events; undefined if it does. */
    outputTrouble: () => connection.read(() => eventLog.readerOf(linesReader))?.trouble,
    /** What waits for standard output; undefined if no run writes to it. */
    outputEvents: () =>
      connection.read(() => {
        const reader = eventLog.readerOf(linesReader);
        return reader && eventLog.backlogOf(linesReader, reader);
      }),
    /** Resolves when all that was committed before is on the disk. Changes a row: SQLite syncs nothing for no change. */
    makeDurable: (): Promise<void> =>
      connection.write(() => rows.putWithin(published, eventLog.ends().last), {
        durable: true,
        waits: false,
      }),
    /** Frees what earlier runs held; the caller has the run lock. */
    beginRun: (): Promise<void> => connection.write(() => freeWhatWasHeld(connection)),
    waitForRoom: connection.waitForRoom,
    /** While what a run stores waits for room on a full disk: since when, ms since 1970. */
    fullDisk(): { since: number } | undefined {
      const since = connection.fullSince();
      return since === undefined ? undefined : { since };
    },
    /** Commits pending changes, then closes the file. */
    close: connection.close,
  };
}
