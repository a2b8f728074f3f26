/** One request as the service saw it. It never contains tokens, codes and secrets. */
export interface JournalEntry {
  /** Counts from 0 since the start; clearing the journal does not reset it. */
  readonly index: number;
  /** Arrival, milliseconds since 1970 by the service's clock. */
  readonly atMs: number;
  /** Arrival by the system clock, with fractions. Use it for rates, because tests may change the service's clock. */
  readonly arrivedAtMs: number;
  readonly method: string;
  readonly path: string;
  /** As received, without the question mark; values of tokens, codes and secrets are replaced. */
  readonly query: string;
  /** Name of the endpoint, null for an unknown path. */
  readonly endpoint: string | null;
  /** The partner account whose token was sent, even if expired. */
  user: string | null;
  /** Only for token requests. */
  grantType: string | null;
  /** Status of the answer; null while there is none, and for ever after `hang` and `reset`. */
  status: number | null;
  /** Kind of the fault that was played, if any. */
  fault: string | null;
}

/** The requests that arrived. Beyond the limit, the oldest entries are deleted. */
export function createJournal(maxEntries: number) {
  const entries = new Map<number, JournalEntry>();
  let nextIndex = 0;
  return {
    /** Number of requests recorded since the start, which is the index of the next one. */
    get nextIndex(): number {
      return nextIndex;
    },
    /** Records a request. @returns its entry, whose open fields are filled as the request proceeds */
    add(fields: Omit<JournalEntry, 'index'>): JournalEntry {
      const entry = { index: nextIndex, ...fields };
      nextIndex += 1;
      entries.set(entry.index, entry);
      entries.delete(entry.index - maxEntries);
      return entry;
    },
    /** @param since index of the first entry to return. @param limit default: no limit */
    list(since = 0, limit = Number.POSITIVE_INFINITY): JournalEntry[] {
      const first = Math.max(0, since - (nextIndex - entries.size));
      return [...entries.values()].slice(first, first + limit);
    },
    clear: (): void => entries.clear(),
  };
}

/** Replaces the values of parameters whose names contain token, code or secret. */
export const withoutQuerySecrets = (query: string): string =>
  query.replace(/(^|&)([^=&]*(?:token|secret|code)[^=&]*)=[^&]*/gi, '$1$2=hidden');
