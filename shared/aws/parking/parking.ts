/**
 * Messages that wait for manual action or for the end of a pause are parked outside the queue, so that they are not
 * received again and again. On AWS, parking and releasing take several writes to two services. Their order ensures that
 * no message is lost if a crash follows any of these writes. The order is defined here, separately from the adapters,
 * so that the simulation can crash after every step. See docs/decisions/0016-parking.md.
 */

import type { MessageRead } from '../../contract/messages.ts';
import type { ParkedMessage } from '../../domain/queue/parked-message.ts';
import type { ReleaseOptions } from '../../ports/parked-messages.ts';

/** A stored row without a valid message: its flaw, and what it was about, as far as it can be read. */
export type UnreadableRow = { readonly place: string } & Extract<MessageRead, { flaw: string }>;

/** The store of parked messages. Each call is one step, after which the process may crash. */
export interface ParkingLot<Row = ParkedMessage | UnreadableRow> {
  /** Stores messages; a message that already exists stays unchanged. */
  put(parked: readonly ParkedMessage[]): Promise<void>;
  /** Sets the mark that the account may have parked messages; replaces an earlier mark. @param atMs ms since 1970 */
  mark(partnerAccount: string, atMs: number): Promise<void>;
  /** Accounts with a mark. All reads here are strongly consistent. */
  marked(): Promise<string[]>;
  markedAt(partnerAccount: string): Promise<number | undefined>;
  /** At most `limit` of the account's rows, ordered by place. */
  oldest(partnerAccount: string, limit: number): Promise<readonly Row[]>;
  remove(partnerAccount: string, places: readonly string[]): Promise<void>;
  /** Removes the account's mark if its time is still `atMs`. */
  unmark(partnerAccount: string, atMs: number): Promise<void>;
}

export interface ParkingDeps {
  readonly lot: ParkingLot;
  /** Puts messages into the queue, deduplicated by place for five minutes. @returns the places that were not accepted */
  readonly send: (parked: readonly ParkedMessage[]) => Promise<ReadonlySet<string>>;
  /** Sends a dead letter for each row, deduplicated in the same way. @returns the places that were not accepted */
  readonly deadLetter: (
    partnerAccount: string,
    rows: readonly UnreadableRow[],
  ) => Promise<ReadonlySet<string>>;
  readonly clock: { now(): number };
  /**
   * Minimum lifetime of a mark. It must exceed the time limit of a function plus the difference between two clocks:
   * after it, the process that set the mark has stored its messages or has ended. Default 300,000.
   */
  readonly keepMarkMs?: number;
}

export type Parking = ReturnType<typeof createParking>;

/** Messages per step of sending and removing; a crash in between sends at most these twice. */
const portion = 250;

export function createParking({ lot, send, deadLetter, clock, keepMarkMs = 300_000 }: ParkingDeps) {
  /** Sends the rows and then removes those that `send` has accepted. @returns the number of removed rows */
  async function moveOut<R extends { readonly place: string }>(
    partnerAccount: string,
    rows: readonly R[],
    send: (rows: readonly R[]) => Promise<ReadonlySet<string>>,
  ): Promise<number> {
    if (rows.length === 0) return 0;
    const refused = await send(rows);
    const accepted = rows.map(({ place }) => place).filter((place) => !refused.has(place));
    await lot.remove(partnerAccount, accepted);
    return accepted.length;
  }

  return {
    /** Parks messages. Resolves when they are stored; only then may they leave the queue. */
    async park(parked: readonly ParkedMessage[]): Promise<void> {
      // Planted fault: mark-after-messages
      // The marks first: messages without one would never be found.
      for (const name of new Set(parked.map(({ message }) => message.partnerAccount))) {
        await lot.mark(name, clock.now());
      }
      await lot.put(parked);
    },

    accounts: () => lot.marked(),

    /** Puts the account's messages back into the queue, oldest first. @returns the number of messages */
    async release(partnerAccount: string, { most, deadlineMs }: ReleaseOptions): Promise<number> {
      // Read the mark before the messages: a mark that is renewed later may belong to messages that this read does not
      // see.
      const markedAt = await lot.markedAt(partnerAccount);
      if (markedAt === undefined) return 0;
      // Planted faults: mark-removed-before-messages, young-mark-removed
      let released = 0;
      while (released < most && clock.now() < deadlineMs) {
        const rows = await lot.oldest(partnerAccount, Math.min(portion, most - released));
        if (rows.length === 0) {
          // A younger mark may come from a function that has not stored its messages yet.
          if (clock.now() - markedAt > keepMarkMs) await lot.unmark(partnerAccount, markedAt);
          break;
        }
        const messages = rows.filter((row) => 'message' in row);
        // A message that a newer bridge parked waits for that version.
        const unreadable = rows.filter((row): row is UnreadableRow => 'flaw' in row && !row.isNewer);
        const sent = await moveOut(partnerAccount, messages, send);
        released += sent;
        const given = await moveOut(partnerAccount, unreadable, (some) => deadLetter(partnerAccount, some));
        if (sent + given < rows.length) break;
      }
      return released;
    },
  };
}
