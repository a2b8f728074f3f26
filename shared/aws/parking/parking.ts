/**
 * Messages that wait for a person or for the end of a pause wait outside the queue, where nobody receives them again and
 * again. On AWS parking and releasing take several writes to two services. Their order keeps a message from being lost
 * when any of them is the last one; it stands here, apart from the adapters, so that the simulation can break it off at
 * every step. See docs/decisions/0016-parking.md.
 */

import type { MessageRead } from '../../contract/messages.ts';
import type { ParkedMessage } from '../../domain/queue/parked-message.ts';
import type { ReleaseOptions } from '../../ports/parked-messages.ts';

/** A stored row that holds no message: what is wrong with it, and what it was about as far as it tells. */
export type UnreadableRow = { readonly place: string } & Extract<MessageRead, { flaw: string }>;

/** Where parked messages are kept. Each call is one step, and may be the last before a crash. */
export interface ParkingLot<Row = ParkedMessage | UnreadableRow> {
  /** Keeps messages; one that is there already stays as it is. */
  put(parked: readonly ParkedMessage[]): Promise<void>;
  /** Notes that the account may have parked messages, in the place of any earlier mark. @param atMs ms since 1970 */
  mark(partnerAccount: string, atMs: number): Promise<void>;
  /** Accounts with a mark. Strongly consistent, as all that is read here. */
  marked(): Promise<string[]>;
  markedAt(partnerAccount: string): Promise<number | undefined>;
  /** At most `limit` of the account's rows, by place. */
  oldest(partnerAccount: string, limit: number): Promise<readonly Row[]>;
  remove(partnerAccount: string, places: readonly string[]): Promise<void>;
  /** Takes the account's mark away if it is still the one of `atMs`. */
  unmark(partnerAccount: string, atMs: number): Promise<void>;
}

export interface ParkingDeps {
  readonly lot: ParkingLot;
  /** Puts messages into the queue, once for each place within five minutes. @returns the places not accepted */
  readonly send: (parked: readonly ParkedMessage[]) => Promise<ReadonlySet<string>>;
  /** Sends a dead letter for each row, once as above. @returns the places not accepted */
  readonly deadLetter: (
    partnerAccount: string,
    rows: readonly UnreadableRow[],
  ) => Promise<ReadonlySet<string>>;
  readonly clock: { now(): number };
  /**
   * How long a mark is kept at least. Whoever set it has stored its messages, or is dead, by then: so more than the time
   * limit of a function and the difference between two clocks. Default 300,000.
   */
  readonly keepMarkMs?: number;
}

export type Parking = ReturnType<typeof createParking>;

/** Messages sent back before those are removed from the lot; a crash in between sends no more than these twice. */
const portion = 250;

export function createParking({ lot, send, deadLetter, clock, keepMarkMs = 300_000 }: ParkingDeps) {
  /** Removes the rows that `send` accepts, after it has. @returns how many */
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
    /** Resolves when the messages are safe: only then may they leave the queue. */
    async park(parked: readonly ParkedMessage[]): Promise<void> {
      // Planted fault: mark-after-messages
      // The marks first: messages without one would never be found.
      for (const name of new Set(parked.map(({ message }) => message.partnerAccount))) {
        await lot.mark(name, clock.now());
      }
      await lot.put(parked);
    },

    accounts: () => lot.marked(),

    /** Puts the account's messages back into the queue, oldest first. @returns how many */
    async release(partnerAccount: string, { most, deadlineMs }: ReleaseOptions): Promise<number> {
      // Before looking for messages: a mark renewed since may stand for some that are not seen here.
      const markedAt = await lot.markedAt(partnerAccount);
      if (markedAt === undefined) return 0;
      // Planted faults: mark-removed-before-messages, young-mark-removed
      let released = 0;
      while (released < most && clock.now() < deadlineMs) {
        const rows = await lot.oldest(partnerAccount, Math.min(portion, most - released));
        if (rows.length === 0) {
          // A younger mark may be of a function that is about to store its messages.
          if (clock.now() - markedAt > keepMarkMs) await lot.unmark(partnerAccount, markedAt);
          break;
        }
        const messages = rows.filter((row) => 'message' in row);
        // What a newer bridge parked waits for that version.
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
