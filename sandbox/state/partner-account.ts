/** An advert's status from a moment on; null: the service no longer knows it. */
export interface HistoryEntry {
  readonly status: string | null;
  readonly atMs: number;
}

/** An advert, or an order. */
export interface Advert {
  readonly id: string;
  /** Null: removed. */
  status: string | null;
  readonly title: string;
  readonly price: number;
  readonly history: HistoryEntry[];
}

/**
 * One user of the service: the adverts, and the log of changes that the feed shows page by page. The log is two parallel
 * arrays, sorted by time, so that a page costs a binary search and a slice, however long the log is.
 */
export class PartnerAccount {
  readonly name: string;
  readonly adverts = new Map<string, Advert>();
  /** In the order of creation; removed ones included. */
  readonly inOrder: Advert[] = [];
  removedCount = 0;
  /** Raised to invalidate every cursor handed out before. */
  cursorEpoch = 0;
  readonly #changedAtMs: number[] = [];
  readonly #changedIds: string[] = [];

  /** The same of the user's orders; assumed to be alike. */
  #orders: PartnerAccount | undefined;

  constructor(name: string) {
    this.name = name;
  }

  /** @see partner-api.md §4.8 */
  get orders(): PartnerAccount {
    this.#orders ??= new PartnerAccount(`orders of ${this.name}`);
    return this.#orders;
  }

  get changeCount(): number {
    return this.#changedIds.length;
  }

  /** @param listed false for adverts older than the feed: it does not show their creation */
  add(
    id: string,
    fields: { status: string; title: string; price: number },
    atMs: number,
    listed = true,
  ): Advert {
    const advert: Advert = { id, ...fields, history: [{ status: fields.status, atMs }] };
    this.adverts.set(id, advert);
    this.inOrder.push(advert);
    if (listed) this.list(id, atMs);
    return advert;
  }

  /** Sets a status, also the one it has: every call is one change and one entry of the feed. */
  change(advert: Advert, status: string | null, atMs: number): void {
    this.removedCount += Number(status === null) - Number(advert.status === null);
    advert.status = status;
    advert.history.push({ status, atMs: this.list(advert.id, atMs) });
  }

  /** Appends an entry to the feed. @returns its time, never before that of the last entry, also when the clock was set back */
  list(id: string, atMs: number): number {
    const recordedAtMs = Math.max(atMs, this.#changedAtMs.at(-1) ?? atMs);
    this.#changedAtMs.push(recordedAtMs);
    this.#changedIds.push(id);
    return recordedAtMs;
  }

  /** Position of the first change recorded after a moment. */
  positionAfter(atMs: number): number {
    let low = 0;
    let high = this.#changedAtMs.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#changedAtMs[middle] ?? 0) <= atMs) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** When the change at a position was recorded; undefined past the end. */
  changedAtMs(position: number): number | undefined {
    return this.#changedAtMs[position];
  }

  idsBetween(start: number, end: number): string[] {
    return this.#changedIds.slice(start, end);
  }
}
