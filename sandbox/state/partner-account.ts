/** An advert's status from this time on; null: the service no longer knows the advert. */
interface HistoryEntry {
  readonly status: string | null;
  readonly atMs: number;
}

export interface Advert {
  readonly id: string;
  readonly user: string;
  /** Null: removed. */
  status: string | null;
  readonly title: string;
  readonly price: number;
  /** Oldest first; the last entry is the current status. */
  readonly history: HistoryEntry[];
}

/** One user of the service, with the changes that the feed shows page by page. */
export class PartnerAccount {
  readonly name: string;
  /** The position of every valid cursor, by `since` and cursor. */
  readonly cursors = new Map<string, number>();
  /** Sorted by time, so that a page costs only a binary search and a slice, however many there are. */
  readonly changes: { readonly id: string; readonly atMs: number }[] = [];

  constructor(name: string) {
    this.name = name;
  }

  /** Sets a status, even the current one: every call is one change and one feed entry. */
  change(advert: Advert, status: string | null, atMs: number): void {
    advert.status = status;
    advert.history.push({ status, atMs: this.list(advert.id, atMs) });
  }

  /**
   * Appends an entry to the feed.
   * @returns its time, never before that of the last entry, even if the clock was set back
   */
  list(id: string, atMs: number): number {
    const recordedAtMs = Math.max(atMs, this.changes.at(-1)?.atMs ?? atMs);
    this.changes.push({ id, atMs: recordedAtMs });
    return recordedAtMs;
  }

  /** Position of the first change recorded after this time. */
  positionAfter(atMs: number): number {
    let [low, high] = [0, this.changes.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.changes[middle]?.atMs ?? 0) <= atMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
