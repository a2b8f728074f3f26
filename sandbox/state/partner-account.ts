/** An advert's status from this time on; null: the service no longer knows the advert. */
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
 * One user of the service, with their adverts and the change log that the feed shows page by page. The log is two
 * parallel arrays, sorted by time, so that a page costs only a binary search and a slice, however long the log is.
 */
export class PartnerAccount {
  readonly name: string;
  readonly adverts = new Map<string, Advert>();
  /** In the order of creation, including removed ones. */
  readonly inOrder: Advert[] = [];
  removedCount = 0;
  /** Incremented to invalidate every cursor issued before. */
  cursorEpoch = 0;
  readonly #changedAtMs: number[] = [];
  readonly #changedIds: string[] = [];

  /** The user's orders, which are assumed to work like adverts. */
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

  /** @param listed false for adverts older than the feed, whose creation the feed does not show */
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

  /** Sets a status, even the current one: every call is one change and one feed entry. */
  change(advert: Advert, status: string | null, atMs: number): void {
    this.removedCount += Number(status === null) - Number(advert.status === null);
    advert.status = status;
    advert.history.push({ status, atMs: this.list(advert.id, atMs) });
  }

  /**
   * Appends an entry to the feed.
   *
   * @returns its time, never before that of the last entry, even if the clock was set back
   */
  list(id: string, atMs: number): number {
    const recordedAtMs = Math.max(atMs, this.#changedAtMs.at(-1) ?? atMs);
    this.#changedAtMs.push(recordedAtMs);
    this.#changedIds.push(id);
    return recordedAtMs;
  }

  /** Position of the first change recorded after this time. */
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
