import type { ParkingLot } from '../../shared/aws/parking/parking.ts';
import type { ParkedMessage } from '../../shared/domain/queue/parked-message.ts';
import type { InMemoryBooks } from './books.ts';

export type InMemoryParkingLot = ReturnType<typeof createInMemoryParkingLot>;

/** Never called: messages kept in memory can always be read. */
export const neverUnreadable = async (): Promise<never> => {
  throw new Error('a parked message could not be read');
};

/**
 * Parked messages in memory. They count as in flight. A message that is both parked and in the queue, because a
 * process ended in between, counts as listed twice, because it will be settled twice.
 */
export function createInMemoryParkingLot(books: InMemoryBooks) {
  const accounts = new Map<string, Map<string, ParkedMessage>>();
  const marks = new Map<string, number>();

  function count({ message }: ParkedMessage, by: 1 | -1): void {
    const counts = books.of(message.partnerAccount, message.generation);
    counts.listed += by;
    counts.inFlight += by;
  }

  function keep(parked: ParkedMessage): void {
    const { partnerAccount } = parked.message;
    const own = accounts.get(partnerAccount) ?? new Map<string, ParkedMessage>();
    accounts.set(partnerAccount, own);
    if (own.has(parked.place)) return;
    own.set(parked.place, parked);
    count(parked, 1);
  }

  const lot: ParkingLot<ParkedMessage> = {
    async put(parked) {
      for (const one of parked) keep(one);
    },
    async mark(partnerAccount, atMs) {
      marks.set(partnerAccount, atMs);
    },
    marked: async () => [...marks.keys()],
    markedAt: async (partnerAccount) => marks.get(partnerAccount),
    oldest: async (partnerAccount, limit) =>
      [...(accounts.get(partnerAccount)?.values() ?? [])]
        .sort((a, b) => (a.place < b.place ? -1 : 1))
        .slice(0, limit),
    async remove(partnerAccount, places) {
      const own = accounts.get(partnerAccount);
      for (const place of places) {
        const parked = own?.get(place);
        if (!parked) continue;
        own?.delete(place);
        count(parked, -1);
      }
    },
    async unmark(partnerAccount, atMs) {
      if (marks.get(partnerAccount) === atMs) marks.delete(partnerAccount);
    },
  };

  return {
    ...lot,
    /** Performs all steps of the parking protocol for one message as a single step of the queue. */
    parkAtOnce(parked: ParkedMessage, atMs: number): void {
      keep(parked);
      marks.set(parked.message.partnerAccount, atMs);
    },
    size: (): number => [...accounts.values()].reduce((sum, own) => sum + own.size, 0),
  };
}
