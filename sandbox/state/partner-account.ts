/** An advert's status from this time on; null: the service no longer knows the advert. */
export interface HistoryEntry {
  readonly status: string | null;
  readonly atMs: number;
}

export interface Advert {
  readonly id: string;
  /** Null: removed. */
  status: string | null;
  readonly title: string;
  readonly price: number;
  readonly history: HistoryEntry[];
}

/**
 * One user of the service, with their adverts and the change log that the feed shows page by page. The log is sorted
 * by time, so that a page costs only a binary search and a slice, however long the log is.
 */
export class PartnerAccount {
  readonly name: string;
  /** By ID, in the order of creation, including removed ones. */
  readonly adverts = new Map<string, Advert>();
  readonly inOrder: Advert[] = [];
  /** The position of every valid cursor, by `since` and cursor. */
  readonly cursors = new Map<string, number>();
  readonly #changes: { readonly id: string; readonly atMs: number }[] = [];

  constructor(name: string) {
    this.name = name;
  }

  get changeCount(): number {
    return this.#changes.length;
  }

  /** @param listed false for adverts older than the feed, whose creation the feed does not show */
  add(advert: Advert, atMs: number, listed = true): void {
    this.adverts.set(advert.id, advert);
    this.inOrder.push(advert);
    advert.history.push({ status: advert.status, atMs: listed ? this.list(advert.id, atMs) : atMs });
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
    const recordedAtMs = Math.max(atMs, this.#changes.at(-1)?.atMs ?? atMs);
    this.#changes.push({ id, atMs: recordedAtMs });
    return recordedAtMs;
  }

  /** Position of the first change recorded after this time. */
  positionAfter(atMs: number): number {
    let [low, high] = [0, this.#changes.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.changedAtMs(middle) ?? 0) <= atMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** When the change at a position was recorded; undefined past the end. */
  changedAtMs(position: number): number | undefined {
    return this.#changes[position]?.atMs;
  }

  idsBetween(start: number, end: number): string[] {
    return this.#changes.slice(start, end).map(({ id }) => id);
  }
}
