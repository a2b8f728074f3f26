import { createParking } from '../../shared/aws/parking/parking.ts';
import type { AuditProgress, AuditShare } from '../../shared/ports/backfills.ts';
import { createAdvertHistories } from '../../shared/state/advert-histories.ts';
import { createBudgetStore } from '../../shared/state/budget.ts';
import { createPartnerAccounts } from '../../shared/state/partner-accounts.ts';
import { createInMemoryBooks } from './books.ts';
import { createInMemoryQueue, type InMemoryQueueOptions } from './changed-adverts-queue.ts';
import { createInMemoryFeedStates } from './feed-states.ts';
import { createInMemoryParkingLot, neverUnreadable } from './parking-lot.ts';
import { createInMemoryProgress } from './progress.ts';
import { createInMemoryStore } from './store.ts';
import { createInMemoryApplicationSecret, createInMemoryVault } from './token-vault.ts';

/** The complete state of a bridge in memory, with shared books. */
export function createInMemoryState(options: Omit<InMemoryQueueOptions, 'books' | 'parkingLot'>) {
  const store = createInMemoryStore();
  const books = createInMemoryBooks();
  const parkingLot = createInMemoryParkingLot(books);
  const queue = createInMemoryQueue({ ...options, books, parkingLot });
  const { clock } = options;
  const advertHistories = createAdvertHistories(store);
  return {
    store,
    feedStates: createInMemoryFeedStates(books),
    partnerAccounts: createPartnerAccounts(store),
    advertHistories,
    publishedAdverts: advertHistories,
    audits: createInMemoryProgress<AuditProgress>(),
    auditShares: createInMemoryProgress<AuditShare>(),
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
    budgetStore: createBudgetStore(store),
  };
}
