/** One request as the service saw it. Tokens, codes and secrets are never in it. */
export interface JournalEntry {
  /** Counts from 0 since the start; a clear does not reset it. */
  readonly index: number;
  /** Arrival, milliseconds since 1970 by the service's clock. */
  readonly atMs: number;
  /** Arrival by the machine's clock, with fractions: for rates, which would be wrong when the service's clock is moved. */
  readonly arrivedAtMs: number;
  readonly method: string;
  readonly path: string;
  /** As received, without the question mark; the values of tokens, codes and secrets replaced. */
  readonly query: string;
  /** Name of the endpoint, null for an unknown path. */
  readonly endpoint: string | null;
  /** The partner account whose token was sent, also an expired one. */
  user: string | null;
  /** Of token requests. */
  grantType: string | null;
  /** Tells access tokens (of token requests: refresh tokens) apart. */
  tokenFingerprint: string | null;
  /** Status answered; null while there is no answer, as always after `hang` and `reset`. */
  status: number | null;
  /** Kind of the fault played, if any. */
  fault: string | null;
}

export interface Journal {
  /** Records a request. @returns its entry, whose open fields are filled as the request proceeds */
  add(entry: Omit<JournalEntry, 'index'>): JournalEntry;
  /** @param since index of the first entry wanted, default 0. @param limit default: all that are kept */
  list(since?: number, limit?: number): JournalEntry[];
  clear(): void;
  /** Requests recorded since the start: the index of the next one. */
  readonly nextIndex: number;
}

/** Beyond the limit the oldest entries are dropped. */
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

/** Replaces the values of parameters whose name contains token, code or secret. */
export function withoutSecrets(query: string): string {
  return query.replace(hidden, '$1$2=hidden');
}
