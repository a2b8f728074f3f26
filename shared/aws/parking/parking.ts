/**
 * Messages that wait for a person or for the end of a pause wait outside the queue, where nobody asks for them again and
 * again. On AWS parking and releasing take several writes in two services, so their order is what keeps messages from
 * being lost when any of them is the last: it is here, apart from the adapter, so that the simulation can break it off
 * at every step. See docs/decisions/0016-parking.md.
 */

import type { ParkedMessage } from '../../domain/queue/parked-message.ts';
import type { ReleaseOptions } from '../../ports/parked-messages.ts';

/** Where parked messages are kept. Each call is one step, and may be the last before a crash. */
export interface ParkingLot {
  /** Keeps messages; one that is there already stays as it is. */
  put(parked: readonly ParkedMessage[]): Promise<void>;
  /** Notes that the account may have parked messages, in the place of any earlier mark. @param atMs ms since 1970 */
  mark(partnerAccount: string, atMs: number): Promise<void>;
  /** Accounts with a mark. Strongly consistent, as all that is read here. */
  marked(): Promise<string[]>;
  markedAt(partnerAccount: string): Promise<number | undefined>;
  /** At most `limit` of the account's messages, by place. */
  oldest(partnerAccount: string, limit: number): Promise<ParkedMessage[]>;
  remove(partnerAccount: string, places: readonly string[]): Promise<void>;
  /** Takes the account's mark away if it is still the one of `atMs`. */
  unmark(partnerAccount: string, atMs: number): Promise<void>;
}

export interface ParkingDeps {
  readonly lot: ParkingLot;
  /** Puts messages into the queue, once for each place within five minutes. @returns the places not accepted */
  readonly send: (parked: readonly ParkedMessage[]) => Promise<ReadonlySet<string>>;
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

/** Resolves when the messages are safe: only then may they leave the queue. */
export async function parkIn(
  lot: Pick<ParkingLot, 'mark' | 'put'>,
  parked: readonly ParkedMessage[],
  nowMs: number,
): Promise<void> {
  // First: messages without a mark would never be found.
  for (const name of new Set(parked.map(({ message }) => message.partnerAccount))) {
    await lot.mark(name, nowMs);
  }
  await lot.put(parked);
}

export function createParking({ lot, send, clock, keepMarkMs = 300_000 }: ParkingDeps) {
  return {
    park: (parked: readonly ParkedMessage[]): Promise<void> => parkIn(lot, parked, clock.now()),

    accounts: () => lot.marked(),

    /** Puts the account's messages back into the queue, oldest first. @returns how many */
    async release(partnerAccount: string, { most, deadlineMs }: ReleaseOptions): Promise<number> {
      // Before looking for messages: a mark renewed since may stand for some that are not seen here.
      const markedAt = await lot.markedAt(partnerAccount);
      if (markedAt === undefined) return 0;
      let released = 0;
      while (released < most && clock.now() < deadlineMs) {
        const parked = await lot.oldest(partnerAccount, Math.min(portion, most - released));
        if (parked.length === 0) {
          // A younger one may be of somebody who is about to store its messages.
          if (clock.now() - markedAt > keepMarkMs) await lot.unmark(partnerAccount, markedAt);
          break;
        }
        const refused = await send(parked);
        const accepted = parked.filter(({ place }) => !refused.has(place));
        await lot.remove(
          partnerAccount,
          accepted.map(({ place }) => place),
        );
        released += accepted.length;
        if (refused.size > 0) break;
      }
      return released;
    },
  };
}
