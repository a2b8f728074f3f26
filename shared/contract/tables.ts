/** Keys of a row of the store in either DynamoDB table: `infra` creates the tables, `shared/aws` uses them. */
export const storeKeys = { partitionKey: 'pk', sortKey: 'sk' } as const;

/**
 * The kinds of rows in the {@link Store}, each with its table. The kind is the partition key and the row's name the
 * sort key, so that functions are granted kinds.
 *
 * | kind | name | row |
 * |---|---|---|
 * | `account` | partner account | stop, pause, refresh lock, token version and expiry |
 * | `feed` | account `/` feed | cursor, since, lease, listed |
 * | `books` | account `/` generation | outcomes counted |
 * | `bridge` | `budget` | next free slot, pause |
 * | `bridge` | `activity` | answers of the service, counted by the minute |
 * | `progress` | account `/` generation `/` operation | how far a backfill or an audit is |
 * | `aside` | account `/` number | a message on hold, outside the queue |
 * | `dead` | account `/` hash of the message's key | a dead letter |
 * | `history` | account `/` generation `/` advert ID | the latest event of an advert |
 */
export const tableOfKind = {
  account: 'feedState',
  feed: 'feedState',
  books: 'feedState',
  bridge: 'feedState',
  progress: 'feedState',
  aside: 'feedState',
  dead: 'feedState',
  history: 'advertStatus',
} as const;
export type Kind = keyof typeof tableOfKind;
export type TableName = (typeof tableOfKind)[Kind];
