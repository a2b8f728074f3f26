import type { AuditDeps } from '../../../functions/audit/audit.ts';
import type { PollDeps } from '../../../functions/drain/poll-feed.ts';
import type { AdvertLister } from '../../../shared/partner-api/readers.ts';
import type { PublishedAdverts } from '../../../shared/ports/advert-histories.ts';
import type { AdvertReader } from '../../../shared/ports/advert-reader.ts';
import type { Backfills } from '../../../shared/ports/backfills.ts';
import type { PartnerAccounts } from '../../../shared/state/partner-accounts.ts';

/** Number of connections to the partner service: an audit fetches this many adverts concurrently. */
export const concurrency = 10;

/** What `backfill`, `resync` and `audit` need from a bridge of any kind. */
export interface CatchUp {
  readonly accounts: Pick<PartnerAccounts, 'list' | 'read'>;
  readonly backfills: Backfills;
  /** For reading the feed as the drain does; the messages of a backfill go to its `queue` too. */
  readonly poll: PollDeps;
  readonly lister: AdvertLister;
  readonly adverts: AdvertReader;
  /** Whether a consumer is currently taking messages from the queue. */
  readonly isDelivering: () => boolean;
}

/** What only `audit` needs. */
export interface Auditing extends CatchUp, Pick<AuditDeps, 'audits' | 'histories' | 'isSettled'> {
  readonly publishedAdverts: PublishedAdverts;
}
