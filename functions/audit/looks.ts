/** One look at an advert: its last published status, and its current status at the service. */
import { ShapeError } from '../../shared/contract/checks.ts';
import { advertsFeed } from '../../shared/contract/feeds.ts';
import { type Clock, toInstant } from '../../shared/domain/clock.ts';
import { PartnerError } from '../../shared/domain/faults.ts';
import type { AdvertHistories } from '../../shared/ports/advert-histories.ts';
import type { AdvertReader } from '../../shared/ports/advert-reader.ts';
import type { Look } from '../../shared/ports/audits.ts';
import type { BackfillKey } from '../../shared/ports/backfills.ts';
import type { FeedReader } from '../../shared/ports/feed-reader.ts';
import { OneFailsError, type PacedRequests } from './paced-requests.ts';

const feed = advertsFeed.name;

export interface LookDeps {
  readonly histories: Pick<AdvertHistories, 'read'>;
  readonly adverts: AdvertReader;
  readonly requests: PacedRequests;
}

/** A cheap probe of the service: asks the feed for changes since now, of which there are hardly any. */
export const askFeed =
  ({ reader, clock }: { readonly reader: FeedReader; readonly clock: Clock }, key: BackfillKey) =>
  (deadlineMs: number) =>
    reader.readPage(
      key.partnerAccount,
      { feed: advertsFeed, since: toInstant(clock.now()), limit: 1 },
      { deadlineMs, generation: key.generation },
    );

/**
 * @param asksService false: check only whether the advert was ever published
 * @returns undefined when the row of the advert, or the service's answer about it, cannot be read
 * @throws {PartnerError} for a fault that does not concern only this advert
 */
export async function lookAt(
  { histories, adverts, requests }: LookDeps,
  { partnerAccount, generation }: BackfillKey,
  advertId: string,
  asksService: boolean,
): Promise<Look | undefined> {
  let row: Awaited<ReturnType<typeof histories.read>>;
  try {
    row = await histories.read({ partnerAccount, generation, feed, advertId });
  } catch (error) {
    if (error instanceof ShapeError) return undefined;
    throw error;
  }
  const { sequence = 0, status = null, pending: owed = false } = row ?? {};
  const look = { advertId, sequence, published: status, owed };
  if (!asksService) return look;
  try {
    const { status: actual } = await requests((deadlineMs) =>
      adverts.readAdvert(partnerAccount, advertId, { deadlineMs, generation, feed }),
    );
    return { ...look, actual };
  } catch (error) {
    // Planted fault: audit-held-up-by-one
    if (error instanceof OneFailsError) return undefined;
    // The time is over or the audit was stopped: this look has no result.
    if (!(error instanceof PartnerError)) throw error;
    if (error.code === 'not-found') return { ...look, actual: null };
    if (error.policy.blames === 'advert') return undefined;
    throw error;
  }
}

/**
 * Whether the published status equals the service's. An advert without an event that the service does not know counts
 * as equal.
 */
export function isEqual({ sequence, published, owed, actual }: Look): boolean {
  if (sequence === 0) return actual === null;
  return actual === undefined || (published === actual && !owed);
}

/** Whether nothing has changed between two looks, neither the published status nor the service's. */
export const isUnchanged = (one: Look, other: Look): boolean =>
  one.sequence === other.sequence && one.owed === other.owed && one.actual === other.actual;
