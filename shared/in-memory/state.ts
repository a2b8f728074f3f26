import { createInMemoryAdvertHistories } from './advert-histories.ts';
import { createInMemoryBooks } from './books.ts';
import { createInMemoryBudgetStore } from './budget-store.ts';
import { createInMemoryFeedStates } from './feed-states.ts';
import { createInMemoryPartnerAccounts } from './partner-accounts.ts';
import { createInMemoryQueue, type InMemoryQueueOptions } from './queue.ts';
import { createInMemoryApplicationSecret, createInMemoryVault } from './vault.ts';

export type InMemoryState = ReturnType<typeof createInMemoryState>;

/** All that a bridge keeps, in memory, with one set of books. */
export function createInMemoryState(options: Omit<InMemoryQueueOptions, 'books'>) {
  const books = createInMemoryBooks();
  const queue = createInMemoryQueue({ ...options, books });
  return {
    feedStates: createInMemoryFeedStates(books),
    partnerAccounts: createInMemoryPartnerAccounts(),
    advertHistories: createInMemoryAdvertHistories(),
    queue,
    deadLetters: queue.deadLetters,
    bookKeeper: { read: queue.read, queue: queue.queue },
    vault: createInMemoryVault(),
    applicationSecret: createInMemoryApplicationSecret(),
    budgetStore: createInMemoryBudgetStore(),
  };
}
