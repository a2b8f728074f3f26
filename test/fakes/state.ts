import type { ChangedAdvert } from '../../shared/contract/messages.ts';
import type { AuditProgress, AuditShare } from '../../shared/ports/backfills.ts';
import type { Store } from '../../shared/ports/store.ts';
import { createAdvertHistories } from '../../shared/state/advert-histories.ts';
import { createAside } from '../../shared/state/aside.ts';
import { createBudgetStore } from '../../shared/state/budget.ts';
import { createPartnerAccounts } from '../../shared/state/partner-accounts.ts';
import { createProgress } from '../../shared/state/progress.ts';
import { createInMemoryBooks, type InMemoryBooks } from './books.ts';
import { createInMemoryQueue, type InMemoryQueueOptions } from './changed-adverts-queue.ts';
import { createInMemoryFeedStates } from './feed-states.ts';
import { createInMemoryStore } from './store.ts';
import { createInMemoryApplicationSecret, createInMemoryVault } from './token-vault.ts';

/** The complete state of a bridge in memory, with shared books. */
export function createInMemoryState(options: Omit<InMemoryQueueOptions, 'books' | 'aside'>) {
  const books = createInMemoryBooks();
  const store = countingAside(createInMemoryStore(), books);
  const aside = createAside(store);
  const queue = createInMemoryQueue({ ...options, books, aside });
  const advertHistories = createAdvertHistories(store);
  return {
    store,
    feedStates: createInMemoryFeedStates(books),
    partnerAccounts: createPartnerAccounts(store),
    advertHistories,
    publishedAdverts: advertHistories,
    audits: createProgress<AuditProgress>(store, 'audit', { countsListed: false }),
    auditShares: createProgress<AuditShare>(store, 'audit-share', { countsListed: false }),
    queue,
    aside,
    deadLetters: queue.deadLetters,
    waitingMessages: queue.waitingMessages,
    bookKeeper: { read: queue.read, queue: queue.queue },
    vault: createInMemoryVault(),
    applicationSecret: createInMemoryApplicationSecret(),
    budgetStore: createBudgetStore(store),
  };
}

/**
 * Counts the messages aside as in flight. A message that is both aside and in the queue, because a process ended in
 * between, counts as listed twice, because it will be settled twice.
 */
function countingAside<S extends Store>(store: S, books: InMemoryBooks): S {
  function count(value: unknown, by: 1 | -1): void {
    const { partnerAccount, generation } = (value as { readonly message: ChangedAdvert }).message;
    const counts = books.of(partnerAccount, generation);
    counts.listed += by;
    counts.inFlight += by;
  }
  return {
    ...store,
    async put(key, value, expected) {
      const put = await store.put(key, value, expected);
      if (key.kind === 'aside' && 'etag' in put) count(value, 1);
      return put;
    },
    async remove(key, expected) {
      const row = key.kind === 'aside' ? await store.get(key) : undefined;
      if (row) count(row.value, -1);
      return store.remove(key, expected);
    },
  };
}
