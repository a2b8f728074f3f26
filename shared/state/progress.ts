import * as v from 'valibot';
import { checked, form, kept, readRows, wholeNumber } from '../contract/checks.ts';
import { type Key, type Row, removeRows, type Store, update } from '../ports/store.ts';

/** Progress of a backfill. The latest backfill of each partner account and generation is kept. */
export interface BackfillProgress {
  /** The ID of the process that runs it, or has run it. */
  readonly id: string;
  /** `paused` is of a command of 0.3.0: it is continued as a running one is. */
  readonly state: 'running' | 'paused' | 'done';
  /** Name of the source of its IDs; a backfill is continued only with the same source. */
  readonly source: string;
  /** Position of the next page, in the source's own unit. */
  readonly position: number;
  /** Number of adverts put into the queue. */
  readonly listed: number;
  /** Number of malformed IDs in the source. */
  readonly malformed: number;
  readonly startedAt: string;
  /** Number of adverts of the source, if it is known. */
  readonly total?: number;
}

/** Lists of what an audit found. They may be long: see {@link createAuditResults}. */
export interface AuditResults {
  /** Adverts whose latest event differed from the service; `null`: unavailable. */
  readonly differing: readonly {
    readonly advertId: string;
    readonly published: string | null;
    readonly actual: string | null;
  }[];
  /** Adverts that had no event. */
  readonly neverPublished: readonly string[];
  /** Adverts that fan-out gave up, or that waited for too long. */
  readonly unsettled: readonly string[];
}

/** The lists are those of the results that are not in rows of their own yet. */
export interface AuditProgress extends BackfillProgress, AuditResults {
  /** Number of adverts that were published right, or that got an event for another reason meanwhile. */
  readonly equal: number;
  /** Keys of the messages whose result is not known yet, with the one in the advert's row when they were sent. */
  readonly waiting: readonly { readonly message: string; readonly by?: string | undefined }[];
  /** Number of rows of results, by the ID of the process that wrote them. */
  readonly resultRows?: Readonly<Record<string, number>>;
  /** Number of adverts in these rows that differed. */
  readonly differed?: number;
}

/** The part of the daily audit that the drain has sent. */
export interface AuditShare {
  /** When the day of this share began. */
  readonly startedAt: string;
  /** Number of adverts sent since then. */
  readonly sent: number;
  /** Where the listing of published adverts goes on, also on the next day; absent: at its beginning. */
  readonly from?: string;
}

export interface BackfillKey {
  readonly partnerAccount: string;
  readonly generation: number;
}

export type Progresses<T extends object> = ReturnType<typeof createProgress<T>>;

/** The latest operation of one kind, for each partner account and generation. */
export function createProgress<T extends object>(store: Store, kind: 'backfill' | 'audit' | 'audit-share') {
  const progressRowKey = ({ partnerAccount, generation }: BackfillKey): Key => ({
    kind: 'progress',
    name: `${partnerAccount}/${generation}/${kind}`,
  });
  /** @throws {ShapeError} */
  const valueIn = (row: Row) => progressIn(row).value as object as T;

  return {
    /** The progress of all accounts and generations, without unreadable rows. */
    async list(): Promise<readonly (BackfillKey & { readonly value: T })[]> {
      const rows = (await store.list('progress')).filter(({ name }) => name.endsWith(`/${kind}`));
      const read = (row: Row) => {
        const [partnerAccount = '', generation] = row.name.split('/');
        return { partnerAccount, generation: Number(generation), value: valueIn(row) };
      };
      return readRows(rows, read, () => undefined);
    },

    /** @throws {ShapeError} */
    async read(key: BackfillKey): Promise<T | undefined> {
      const row = await store.get(progressRowKey(key));
      return row && valueIn(row);
    },

    /**
     * Stores what `next` makes of the progress, unless that is undefined. Counts the page's `listed` IDs for the books in
     * the same write, so that a page that is sent twice is counted once.
     */
    async change(
      key: BackfillKey,
      listed: number,
      next: (before: T | undefined) => T | undefined,
    ): Promise<T | undefined> {
      const row = await update(store, progressRowKey(key), (before) => {
        const counted = (before ? progressIn(before).counted : 0) + listed;
        const value = next(before && valueIn(before));
        return value && { value, counted };
      });
      return row && valueIn(row);
    },
  };
}

/**
 * Rows with results of audits. The row of the progress is written with every page, and an item of DynamoDB has at most
 * 400 KB: 31,100 adverts that were never published.
 */
export function createAuditResults(store: Store) {
  const prefixOf = ({ partnerAccount, generation }: BackfillKey): string =>
    `${partnerAccount}/${generation}/`;

  return {
    /** Processes do not share rows, so whoever has lost the audit to another process overwrites nothing. */
    async add(key: BackfillKey, { id, resultRows = {}, ...progress }: AuditProgress): Promise<void> {
      const { differing, neverPublished, unsettled } = progress;
      const name = `${prefixOf(key)}${id}/${String(resultRows[id] ?? 0).padStart(8, '0')}`;
      await store.put({ kind: 'found', name }, { differing, neverPublished, unsettled }, 'absent');
    },

    /** All results, those in rows first. @throws {ShapeError} */
    async all(key: BackfillKey, { resultRows = {}, ...progress }: AuditProgress): Promise<AuditResults> {
      const found: AuditResults[] = [];
      for (const [id, limit] of Object.entries(resultRows)) {
        const rows = await store.list('found', { prefix: `${prefixOf(key)}${id}/`, limit });
        found.push(...readRows(rows, resultsIn));
      }
      found.push(progress);
      return {
        differing: found.flatMap(({ differing }) => differing),
        neverPublished: found.flatMap(({ neverPublished }) => neverPublished),
        unsettled: found.flatMap(({ unsettled }) => unsettled),
      };
    },

    /** Removes the rows of earlier audits. */
    async removeOthers(key: BackfillKey, { resultRows = {} }: AuditProgress): Promise<void> {
      const isOther = ({ name }: Row) => !Object.hasOwn(resultRows, name.split('/').at(-2) ?? '');
      await removeRows(store, { kind: 'found', prefix: prefixOf(key) }, isOther);
    },
  };
}

const resultRow = v.object({
  differing: v.array(
    v.object({ advertId: v.string(), published: v.nullable(v.string()), actual: v.nullable(v.string()) }),
  ),
  neverPublished: v.array(v.string()),
  unsettled: v.array(v.string()),
});

/** @throws {ShapeError} */
const resultsIn = ({ name, value }: Row): AuditResults =>
  checked(resultRow, value, `results of audit ${name}`);

/** Number of IDs that the operations of a generation have listed. */
export async function listedByOperations(store: Store, { partnerAccount, generation }: BackfillKey) {
  const rows = await store.list('progress', { prefix: `${partnerAccount}/${generation}/` });
  return rows.reduce((sum, row) => sum + progressIn(row).counted, 0);
}

const progressRow = v.object({ value: kept({ form }), counted: wholeNumber(0) });

/** @throws {ShapeError} */
const progressIn = ({ name, value }: Row) => checked(progressRow, value, `progress of ${name}`);
