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
  /** Identifies the access token (in token requests: the refresh token). */
  tokenFingerprint: string | null;
  /** Status of the answer; null while there is none, and for ever after `hang` and `reset`. */
  status: number | null;
  /** Kind of the fault that was played, if any. */
  fault: string | null;
}

export interface Journal {
  /** Records a request. @returns its entry, whose open fields are filled as the request proceeds */
  add(entry: Omit<JournalEntry, 'index'>): JournalEntry;
  /** @param since index of the first entry to return, default 0. @param limit default: no limit */
  list(since?: number, limit?: number): JournalEntry[];
  clear(): void;
  /** Number of requests recorded since the start, which is the index of the next one. */
  readonly nextIndex: number;
}

/** Beyond the limit, the oldest entries are deleted. */
export function createJournal(limit: number): Journal {
  const entries = new Map<number, JournalEntry>();
  let nextIndex = 0;
  let firstIndex = 0;
  return {
    get nextIndex() {
      return nextIndex;
    },
    add: (fields) => {
      const entry: JournalEntry = { index: nextIndex, ...fields };
      nextIndex += 1;
      if (limit > 0) entries.set(entry.index, entry);
      while (nextIndex - firstIndex > limit) {
        entries.delete(firstIndex);
        firstIndex += 1;
      }
      return entry;
    },
    list: (since = 0, maximum = Number.POSITIVE_INFINITY) => {
      const listed: JournalEntry[] = [];
      for (
        let index = Math.max(since, firstIndex);
        index < nextIndex && listed.length < maximum;
        index += 1
      ) {
        const entry = entries.get(index);
        if (entry !== undefined) listed.push(entry);
      }
      return listed;
    },
    clear: () => {
      entries.clear();
      firstIndex = nextIndex;
    },
  };
}

const hidden = /(^|&)([^=&]*(?:token|secret|code)[^=&]*)=[^&]*/gi;

/** Replaces the values of parameters whose names contain token, code or secret. */
export function withoutSecrets(query: string): string {
  return query.replace(hidden, '$1$2=hidden');
}
