import { advertIdPattern, checked } from '../contract/checks.ts';
import { advertRow } from '../contract/rows.ts';
import { type HistoryOwner, historyKeyOf } from '../domain/advert-event.ts';
import { type Etag, type Key, type Row, removeRows, type Store } from '../ports/store.ts';

/** The history of one advert: its latest event, and whether the bus has accepted it. */
export interface AdvertRow {
  /** Number of the latest event; 0 when there is none yet. */
  readonly sequence: number;
  /** Status of the latest event; null if the advert was unavailable or has no event yet. */
  readonly status: string | null;
  /** The latest event as a complete envelope, so that it can be published again with the same ID and content. */
  readonly envelope?: string;
  /** The bus may not have accepted the latest event: the next worker publishes it before anything else. */
  readonly pending: boolean;
  /** Key of the message for which the row was last written. */
  readonly by?: string;
  /** Number of advert-specific faults since the last successful answer; too many make the message a dead letter. */
  readonly tries?: number;
  /** When the service first answered that it does not know the advert; removed when that is confirmed or refuted. */
  readonly missingSince?: number;
  /** Of the stored row that this row is, or is to replace. */
  readonly etag: Etag | 'absent';
}

/** The adverts of one generation of a partner account. */
export type Generation = Pick<HistoryOwner, 'partnerAccount' | 'generation'>;

export interface PublishedPage {
  readonly advertIds: readonly string[];
  /** The latest event of each. */
  readonly envelopes: readonly string[];
  /** Where the next page begins; absent after the last one. */
  readonly next?: string;
}

/** Lists the adverts that have at least one event; objects of other feeds are left out. */
export interface PublishedAdverts {
  /**
   * Returns a page of a generation's adverts, in a stable order; a page may be empty although more pages follow.
   * Adverts that get their first event during the listing may be left out.
   *
   * @param from `next` of the page before. Default: the first page
   * @param most size of the page; at most, and by default, a thousand
   */
  page(generation: Generation, from?: string, most?: number): Promise<PublishedPage>;
}

export interface AdvertHistories extends PublishedAdverts {
  /** Strongly consistent. @throws {ShapeError} */
  read(key: HistoryOwner): Promise<AdvertRow | undefined>;
  /**
   * Writes `row` if the stored row still has `row.etag`, so that one of two concurrent workers gets a conflict.
   *
   * @returns the row as stored, with its new etag; undefined after a conflict
   */
  write(key: HistoryOwner, row: AdvertRow): Promise<AdvertRow | undefined>;
  /** Removes every row of the partner account, for all generations up to `generation`. */
  remove(partnerAccount: string, generation: number): Promise<void>;
}

/** About a megabyte, the maximum that DynamoDB returns per call. */
const rowsAtOnce = 1_000;

export function createAdvertHistories(store: Store): AdvertHistories {
  return {
    async read(key) {
      const row = await store.get(rowKeyOf(key));
      return row && { ...checked(advertRow, row.value, `history of advert ${row.name}`), etag: row.etag };
    },

    async write(key, row) {
      const { etag, pending, ...fields } = row;
      const put = await store.put(rowKeyOf(key), { ...fields, ...(pending && { pending }) }, etag);
      return 'etag' in put ? { ...row, etag: put.etag } : undefined;
    },

    async page({ partnerAccount, generation }, from, most = rowsAtOnce) {
      const prefix = `${partnerAccount}/${generation}/`;
      // One more, to know whether another page follows.
      const listed = await store.list('history', {
        prefix,
        limit: most + 1,
        ...(from !== undefined && { after: from }),
      });
      const rows = listed.slice(0, most);
      // The keys of other feeds' objects are not advert IDs.
      const published = rows.flatMap((row) => {
        const [advertId, envelope] = [row.name.slice(prefix.length), envelopeIn(row)];
        return envelope !== undefined && advertIdPattern.test(advertId) ? [{ advertId, envelope }] : [];
      });
      const next = listed.length > most ? rows.at(-1)?.name : undefined;
      return {
        advertIds: published.map(({ advertId }) => advertId),
        envelopes: published.map(({ envelope }) => envelope),
        ...(next !== undefined && { next }),
      };
    },

    remove: (partnerAccount, generation) =>
      removeRows(
        store,
        { kind: 'history', prefix: `${partnerAccount}/` },
        ({ name }) => Number(name.split('/')[1]) <= generation,
      ),
  };
}

const rowKeyOf = (key: HistoryOwner): Key => ({ kind: 'history', name: historyKeyOf(key) });

function envelopeIn({ value }: Row): string | undefined {
  const { envelope } = (value ?? {}) as { envelope?: unknown };
  return typeof envelope === 'string' ? envelope : undefined;
}
