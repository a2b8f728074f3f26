import type { Books } from '../../shared/domain/books.ts';
import { emptyBooks } from '../../shared/domain/books.ts';

/** One set of counters, which can be increased and decreased; the queue maintains `inFlight`. */
export type Counts = { -readonly [K in keyof Omit<Books, 'redelivered'>]: number };

export type InMemoryBooks = ReturnType<typeof createInMemoryBooks>;

/** The books shared by the in-memory queue and feed states, so that counting and settling are one step. */
export function createInMemoryBooks() {
  const accounts = new Map<string, Map<number, Counts>>();

  function of(partnerAccount: string, generation: number): Counts {
    const generations = accounts.get(partnerAccount) ?? new Map<number, Counts>();
    const counts = generations.get(generation) ?? { ...emptyBooks };
    accounts.set(partnerAccount, generations.set(generation, counts));
    return counts;
  }

  return {
    /** Returns the counters to change, and creates them if necessary. */
    of,
    read: (partnerAccount: string, generation: number): Books => ({
      ...(accounts.get(partnerAccount)?.get(generation) ?? emptyBooks),
    }),
    /** Number of messages in the queue for the partner account, of all its generations. */
    depth: (partnerAccount: string): number => waitingIn(accounts.get(partnerAccount)),
    waiting: (): number =>
      [...accounts.values()].reduce((sum, generations) => sum + waitingIn(generations), 0),
  };
}

const waitingIn = (generations: ReadonlyMap<number, Counts> = new Map()): number =>
  [...generations.values()].reduce((sum, { inFlight }) => sum + inFlight, 0);
