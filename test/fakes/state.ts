import { createParking } from '../../shared/aws/parking/parking.ts';
import { createInMemoryAdvertHistories } from './advert-histories.ts';
import { createInMemoryAudits } from './audits.ts';
import { createInMemoryBooks } from './books.ts';
import { createInMemoryBudgetStore } from './budget-store.ts';
import { createInMemoryQueue, type InMemoryQueueOptions } from './changed-adverts-queue.ts';
import { createInMemoryFeedStates } from './feed-states.ts';
import { createInMemoryParkingLot, neverUnreadable } from './parking-lot.ts';
import { createInMemoryPartnerAccounts } from './partner-accounts.ts';
import { createInMemoryApplicationSecret, createInMemoryVault } from './token-vault.ts';

/** The complete state of a bridge in memory, with shared books. */
export function createInMemoryState(options: Omit<InMemoryQueueOptions, 'books' | 'parkingLot'>) {
  const books = createInMemoryBooks();
  const parkingLot = createInMemoryParkingLot(books);
  const queue = createInMemoryQueue({ ...options, books, parkingLot });
  const { clock } = options;
  const { published, ...advertHistories } = createInMemoryAdvertHistories();
  return {
    feedStates: createInMemoryFeedStates(books),
    partnerAccounts: createInMemoryPartnerAccounts(),
    advertHistories,
    publishedAdverts: published,
    audits: createInMemoryAudits(),
    dailyAudits: createInMemoryAudits(),
    queue,
    parkingLot,
    parked: createParking({
      lot: parkingLot,
      send: queue.sendParked,
      deadLetter: neverUnreadable,
      clock,
    }),
    deadLetters: queue.deadLetters,
    waitingMessages: queue.waitingMessages,
    bookKeeper: { read: queue.read, queue: queue.queue },
    vault: createInMemoryVault(),
    applicationSecret: createInMemoryApplicationSecret(),
    budgetStore: createInMemoryBudgetStore(),
  };
}
