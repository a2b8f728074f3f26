import { createDocuments, createTokenVault } from '../../embedded/state/secrets.ts';
import type { ChangedAdvert } from '../../shared/contract/messages.ts';
import type { Key } from '../../shared/ports/store.ts';
import { bookKeeperOf, booksKey } from '../../shared/state/books.ts';
import { createDeadLetters } from '../../shared/state/dead-letters.ts';
import { rowPorts } from '../../shared/state/row-ports.ts';
import { createInMemoryQueue, type InMemoryQueueOptions, immediate } from './changed-adverts-queue.ts';
import { createInMemoryStore, type InMemoryStore } from './store.ts';

/** The complete state of a bridge in memory, with shared books. */
export function createInMemoryState(options: Omit<InMemoryQueueOptions, 'rows'>) {
  const uncounted = createInMemoryStore();
  const store = countingAside(uncounted);
  const queue = createInMemoryQueue({ ...options, rows: uncounted });
  const ports = rowPorts(store);
  let versions = 0;
  const newVersion = () => String(++versions);
  return {
    ...{ ...ports, store, queue },
    bookKeeper: bookKeeperOf(store, queue.figures),
    // The books go on counting what is dropped.
    deadLetters: { ...ports.deadLetters, drop: createDeadLetters(uncounted).drop },
    vault: createTokenVault(immediate, uncounted, { newVersion }),
    /** A secret as edited by hand. */
    editSecret: (name: string, pair: string): void =>
      uncounted.putWithin({ kind: 'tokens', name }, [{ version: newVersion(), pair }]),
    applicationSecret: createDocuments(immediate, uncounted).applicationSecret,
  };
}

/**
 * Counts the messages on hold as in flight, and dead letters as such. A message that is both aside and in the queue, because
 * a process ended in between, counts as listed twice, because it will be settled twice.
 */
function countingAside(store: InMemoryStore): InMemoryStore {
  function count({ kind }: Key, value: unknown, by: 1 | -1): void {
    const { message } = value as { readonly message: ChangedAdvert | null };
    if (!message) return;
    const key = booksKey(message.partnerAccount, message.generation);
    store.addWithin(key, { listed: by, ...(kind === 'dead' && { deadLettered: by }) });
  }
  const isCounted = ({ kind }: Key) => kind === 'aside' || kind === 'dead';
  return {
    ...store,
    add: async () => undefined,
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
