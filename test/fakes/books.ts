import type { FeedName } from '../../shared/contract/feeds.ts';
import type { Books } from '../../shared/domain/books.ts';
import { emptyBooks } from '../../shared/domain/books.ts';

/** One set of counters, which can be increased and decreased; the queue maintains `inFlight`. */
export type Counts = { -readonly [K in keyof Omit<Books, 'redelivered'>]: number };

export type InMemoryBooks = ReturnType<typeof createInMemoryBooks>;

/** The books shared by the in-memory queue and feed states, so that counting and settling are one step. */
export function createInMemoryBooks() {
  const accounts = new Map<string, Map<number, Counts>>();
  const current = new Map<string, number>();

  function of(partnerAccount: string, generation: number, feed?: FeedName): Counts {
    const owner = ownerOf(partnerAccount, feed);
    const generations = accounts.get(owner) ?? new Map<number, Counts>();
    const counts = generations.get(generation) ?? { ...emptyBooks };
    accounts.set(owner, generations.set(generation, counts));
    return counts;
  }

  return {
    /** Returns the counters to change, and creates them if necessary. */
    of,
    /** The generation that a malformed ID counts for: its dead letter names only the partner account. */
    currentGeneration: (partnerAccount: string): number => current.get(partnerAccount) ?? 0,
    opened: (partnerAccount: string, generation: number): void => {
      current.set(partnerAccount, generation);
    },
    closed: (partnerAccount: string): void => {
      current.delete(partnerAccount);
    },
    read: (partnerAccount: string, generation: number, feed?: FeedName): Books => ({
      ...(accounts.get(ownerOf(partnerAccount, feed))?.get(generation) ?? emptyBooks),
    }),
    /** Number of messages in the queue for one feed of the partner account, of all its generations. */
    depth: (partnerAccount: string, feed?: FeedName): number =>
      waitingIn(accounts.get(ownerOf(partnerAccount, feed))),
    waiting: (): number =>
      [...accounts.values()].reduce((sum, generations) => sum + waitingIn(generations), 0),
  };
}

/** Each feed has its own books. */
const ownerOf = (partnerAccount: string, feed: FeedName = 'adverts'): string => `${partnerAccount}/${feed}`;

const waitingIn = (generations: ReadonlyMap<number, Counts> = new Map()): number =>
  [...generations.values()].reduce((sum, { inFlight }) => sum + inFlight, 0);
