import type { ChangedAdvert } from '../../shared/contract/messages.ts';
import type { AuditProgress, AuditShare } from '../../shared/ports/backfills.ts';
import type { Key, Store } from '../../shared/ports/store.ts';
import { createAdvertHistories } from '../../shared/state/advert-histories.ts';
import { createAside, createDeadLetters } from '../../shared/state/aside.ts';
import { createBudgetStore } from '../../shared/state/budget.ts';
import { createPartnerAccounts } from '../../shared/state/partner-accounts.ts';
import { createProgress } from '../../shared/state/progress.ts';
import { createInMemoryBooks, type InMemoryBooks } from './books.ts';
import { createInMemoryQueue, type InMemoryQueueOptions } from './changed-adverts-queue.ts';
import { createInMemoryFeedStates } from './feed-states.ts';
import { createInMemoryStore } from './store.ts';
import { createInMemoryApplicationSecret, createInMemoryVault } from './token-vault.ts';

/** The complete state of a bridge in memory, with shared books. */
export function createInMemoryState(options: Omit<InMemoryQueueOptions, 'books' | 'aside' | 'deadLetters'>) {
  const books = createInMemoryBooks();
  const uncounted = createInMemoryStore();
  const store = countingAside(uncounted, books);
  const aside = createAside(store);
  // The books go on counting what is dropped.
  const deadLetters = { ...createDeadLetters(store), drop: createDeadLetters(uncounted).drop };
  const queue = createInMemoryQueue({ ...options, books, aside, deadLetters });
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
    deadLetters,
    waitingMessages: queue.waitingMessages,
    bookKeeper: { read: queue.read, queue: queue.queue },
    vault: createInMemoryVault(),
    applicationSecret: createInMemoryApplicationSecret(),
    budgetStore: createBudgetStore(store),
  };
}

/**
 * Counts the messages on hold as in flight, and dead letters as such. A message that is both aside and in the queue, because
 * a process ended in between, counts as listed twice, because it will be settled twice.
 */
function countingAside<S extends Store>(store: S, books: InMemoryBooks): S {
  function count({ kind }: Key, value: unknown, by: 1 | -1): void {
    const { message } = value as { readonly message: ChangedAdvert | null };
    if (!message) return;
    const counts = books.of(message.partnerAccount, message.generation);
    counts.listed += by;
    counts[kind === 'dead' ? 'deadLettered' : 'inFlight'] += by;
  }
  const isCounted = ({ kind }: Key) => kind === 'aside' || kind === 'dead';
  return {
    ...store,
    async put(key, value, expected) {
      const put = await store.put(key, value, expected);
      if (isCounted(key) && 'etag' in put && expected === 'absent') count(key, value, 1);
      return put;
    },
    async remove(key, expected) {
      const row = isCounted(key) ? await store.get(key) : undefined;
      const isGone = await store.remove(key, expected);
      if (row && isGone) count(key, row.value, -1);
      return isGone;
    },
  };
}
