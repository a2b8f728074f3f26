import type { PollDeps } from '../../functions/drain/poll-feed.ts';
import type { AdvertLister } from '../../shared/partner-api/readers.ts';
import type { Backfills } from '../../shared/ports/backfills.ts';
import type { Observer } from '../../shared/ports/observer.ts';
import type { PartnerAccounts } from '../../shared/ports/partner-accounts.ts';
import type { Place } from './explain.ts';

export interface CatchUp {
  readonly accounts: PartnerAccounts;
  readonly backfills: Backfills;
  /** For reading the feed as the drain does; its `queue` is where a backfill's messages go, too. */
  readonly poll: PollDeps;
  readonly lister: AdvertLister;
  /** Whether something takes messages from the queue now. */
  readonly isDelivering: () => boolean;
  readonly place: Place;
  close(): void;
}

/** What came of a command is told by the command. */
export const silent: Observer = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  count: () => undefined,
};
