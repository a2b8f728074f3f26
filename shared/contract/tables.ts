/** Keys of the two DynamoDB tables: `infra` creates the tables, `shared/aws` uses them. */

/**
 * Feed-state table: `pk` is the kind of item, `sk` its name.
 *
 * | pk | sk | item |
 * |---|---|---|
 * | `account` | partner account | stop, pause, refresh lock, token version and expiry |
 * | `feed` | partner account `/` feed | cursor, since, lease, listed |
 * | `books` | partner account `/` generation, and `/` feed unless that is adverts | outcomes counted |
 * | `bridge` | `budget` | next free slot, pause |
 * | `parked` | partner account | mark: it may have messages that wait outside the queue; when it was set |
 * | `parked/` partner account | number in the queue `:` key | one such message |
 */
export const feedStateTable = { partitionKey: 'pk', sortKey: 'sk' } as const;

/** Partition of the marks, and of one partner account's parked messages. */
export const parkedMarks = 'parked';
export const parkedMessagesOf = (partnerAccount: string): string => `${parkedMarks}/${partnerAccount}`;

/** Keys of a row of the store in either table. */
export const storeKeys = { partitionKey: 'pk', sortKey: 'sk' } as const;

/**
 * The kinds of rows in the {@link Store}, each with its table. The kind is the partition key and the row's name the
 * sort key, so that functions are granted kinds.
 *
 * | kind | name | row |
 * |---|---|---|
 * | `account` | partner account | stop, pause, refresh lock, token version and expiry |
 * | `feed` | account `/` feed | cursor, since, lease, listed |
 * | `books` | account `/` generation `/` feed | outcomes counted |
 * | `bridge` | `budget` | next free slot, pause |
 * | `progress` | account `/` generation `/` operation | how far a backfill or an audit is |
 * | `aside` | account `/` number | a message outside the queue |
 * | `history` | account `/` generation `/` advert ID | the latest event of an advert |
 */
export const tableOfKind = {
  account: 'feedState',
  feed: 'feedState',
  books: 'feedState',
  bridge: 'feedState',
  progress: 'feedState',
  aside: 'feedState',
  history: 'advertStatus',
} as const;
export type Kind = keyof typeof tableOfKind;
export type TableName = (typeof tableOfKind)[Kind];
