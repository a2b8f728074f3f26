import type { PollDeps } from '../../../functions/drain/poll-feed.ts';
import type { AdvertLister } from '../../../shared/partner-api/readers.ts';
import type { AuditProgress, BackfillProgress } from '../../../shared/ports/backfills.ts';
import type { AdvertHistories, PublishedAdverts } from '../../../shared/state/advert-histories.ts';
import type { PartnerAccounts } from '../../../shared/state/partner-accounts.ts';
import type { Progresses } from '../../../shared/state/progress.ts';

/** Number of connections to the partner service. */
export const concurrency = 2;

/** What `backfill`, `resync` and `audit` need from a bridge of any kind. */
export interface CatchUp {
  readonly accounts: Pick<PartnerAccounts, 'list' | 'read'>;
  readonly backfills: Progresses<BackfillProgress>;
  readonly audits: Progresses<AuditProgress>;
  readonly histories: Pick<AdvertHistories, 'read'>;
  readonly publishedAdverts: PublishedAdverts;
  /** For reading the feed as the drain does; the messages of a backfill go to its `queue` too. */
  readonly poll: PollDeps;
  readonly lister: AdvertLister;
  /** Whether a consumer is currently taking messages from the queue. */
  readonly isDelivering: () => boolean;
  /** For so long the queue may say that it is empty although a message waits. */
  readonly depthLagMs: number;
}
