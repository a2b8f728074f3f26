import * as v from 'valibot';
import { advertIdPattern, checked, form, moment, someText, status, wholeNumber } from '../contract/checks.ts';
import { type HistoryOwner, historyKeyOf } from '../domain/advert-event.ts';
import { type Etag, type Key, type Row, removeRows, rowsAtOnce, type Store } from '../ports/store.ts';

/** The history of one advert: its latest event, and whether the bus has accepted it. */
const advertRow = v.object({
  form,
  /** Number of the latest event; 0 when there is none yet. */
  sequence: wholeNumber(0),
  /** Status of the latest event; null if the advert was unavailable or has no event yet. */
  status: v.nullable(status),
  /** The latest event as a complete envelope, so that it can be published again with the same ID and content. */
  envelope: v.exactOptional(someText),
  /** The bus may not have accepted the latest event: the next worker publishes it before anything else. */
  pending: v.optional(v.boolean(), false),
  /** Key of the message for which the row was last written. */
  by: v.exactOptional(someText),
  /** Number of advert-specific faults of one kind without another answer, each after a witness; too many make a dead letter. */
  tries: v.exactOptional(wholeNumber(0)),
  /** Their kind. Without tries, that of the first failure since the last successful answer. */
  fault: v.exactOptional(someText),
  /** When the last of these was counted. */
  failedAt: v.exactOptional(moment),
  /** When the service first answered that it does not know the advert; removed when that is confirmed or refuted. */
  missingSince: v.exactOptional(moment),
});
export type AdvertRow = Readonly<v.InferOutput<typeof advertRow>> & {
  /** The etag of the stored row that this row is, or is to replace. */
  readonly etag: Etag | 'absent';
};

export type AdvertHistories = ReturnType<typeof createAdvertHistories>;

export function createAdvertHistories(store: Store) {
  return {
    /** @throws {ShapeError} */
    async read(key: HistoryOwner): Promise<AdvertRow | undefined> {
      const row = await store.get(rowKeyOf(key));
      return row && { ...checked(advertRow, row.value, `history of advert ${row.name}`), etag: row.etag };
    },

    /** @returns the row as stored, with its new etag; undefined if the stored row has not `row.etag` */
    async write(key: HistoryOwner, row: AdvertRow): Promise<AdvertRow | undefined> {
      const { etag, pending, ...fields } = row;
      const put = await store.put(rowKeyOf(key), { ...fields, ...(pending && { pending }) }, etag);
      return 'etag' in put ? { ...row, etag: put.etag } : undefined;
    },

    /**
     * Returns a page of a generation's adverts that have an event, with the latest event of each, in a stable order; a
     * page may be empty although more pages follow. Adverts that get their first event meanwhile may be left out.
     *
     * @param from `next` of the page before; absent after the last one
     */
    async page(
      { partnerAccount, generation }: Pick<HistoryOwner, 'partnerAccount' | 'generation'>,
      from = '',
      most = rowsAtOnce,
    ) {
      const prefix = `${partnerAccount}/${generation}/`;
      // One more, to know whether another page follows.
      const listed = await store.list('history', { prefix, limit: most + 1, after: from });
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

    /** Removes every row of the partner account, for all generations up to `generation`. */
    remove: (partnerAccount: string, generation: number): Promise<void> =>
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
