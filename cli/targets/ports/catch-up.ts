import type { AuditDeps } from '../../../functions/audit/audit.ts';
import type { PollDeps } from '../../../functions/drain/poll-feed.ts';
import type { AdvertLister } from '../../../shared/partner-api/readers.ts';
import type { PublishedAdverts } from '../../../shared/ports/advert-histories.ts';
import type { AdvertReader } from '../../../shared/ports/advert-reader.ts';
import type { Backfills } from '../../../shared/ports/backfills.ts';
import type { PartnerAccounts } from '../../../shared/ports/partner-accounts.ts';

/** Connections to the partner service: an audit has so many adverts on their way. */
export const concurrency = 10;

/** What `backfill`, `resync` and `audit` ask of a bridge, whichever kind it is. */
export interface CatchUp {
  readonly accounts: PartnerAccounts;
  readonly backfills: Backfills;
  /** For reading the feed as the drain does; the messages of a backfill go to its `queue`, too. */
  readonly poll: PollDeps;
  readonly lister: AdvertLister;
  readonly adverts: AdvertReader;
  /** Whether something takes messages from the queue now. */
  readonly isDelivering: () => boolean;
}

/** What `audit` asks of it besides. */
export interface Auditing extends CatchUp, Pick<AuditDeps, 'audits' | 'histories' | 'isSettled'> {
  readonly publishedAdverts: PublishedAdverts;
}
