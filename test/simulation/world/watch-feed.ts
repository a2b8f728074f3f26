/** Checks `cursor-behind-queue` and `one-poller` whenever a cursor is stored. */

import { advertIdPattern } from '../../../shared/contract/checks.ts';
import type { PartnerAccount } from '../../../shared/domain/partner-account.ts';
import type { FeedState } from '../../../shared/state/feed-states.ts';
import type { Process } from './process.ts';
import type { SimWorld } from './sim-world.ts';

/** Called for each write of a feed's row; `before` is the state that it replaces. */
export function checkFeed(
  world: SimWorld,
  process: Process,
  { before, now }: { readonly before: FeedState | undefined; readonly now: FeedState },
): void {
  const { service, history, coverage } = world;
  const { partnerAccount: account, generation } = now;
  if (before?.generation !== generation) history.registered(now);
  const resets = now.resets - (before?.resets ?? 0);
  if (before?.generation === generation && resets > 0) {
    coverage.count('drain: started over');
    if (before.resyncing) coverage.count('drain: resync started over');
  }
  const page = service.pages.get(now.cursor ?? '');
  if (!page) return;

  for (const entry of page.data) {
    const id = String(entry);
    if (!advertIdPattern.test(id) || isAccepted(world, account, id, page.tick)) continue;
    history.violated({
      invariant: 'cursor-behind-queue',
      subject: `${account}/${id}`,
      message: `${process.name} stored ${page.cursor}, but the queue has not accepted advert ${account}/${id} of its page`,
    });
  }
  if (now.since !== page.since) {
    const message = `${process.name} stored ${page.cursor} with since ${now.since}, but it was given for ${page.since}`;
    history.violated({ invariant: 'cursor-behind-queue', subject: account, message });
  }
  // Storing the same page twice is a retry by the client itself.
  if (page.askedWith === undefined || page.askedWith === before?.cursor || before?.cursor === page.cursor)
    return;
  const message = `${process.name} stored ${page.cursor}, which follows ${page.askedWith}, over ${before?.cursor}: two pollers at once`;
  history.violated({ invariant: 'one-poller', subject: account, message });
}

/** Checks `one-history`: a generation never returns, because its sequence numbers have been used. */
export function checkGeneration(
  { history }: SimWorld,
  { name: account, generation, forgetting }: PartnerAccount,
  before: PartnerAccount | undefined,
): void {
  if (before?.forgetting && before.generation === generation && !forgetting) {
    const message = `${account} was connected again in generation ${generation}, whose history is being removed`;
    history.violated({ invariant: 'one-history', subject: account, message });
  }
  if (before || !history.isForgotten({ account, generation })) return;
  const message = `${account} was connected anew with generation ${generation}, which it has had before`;
  history.violated({ invariant: 'one-history', subject: account, message });
}

function isAccepted({ history }: SimWorld, account: string, advertId: string, since: number): boolean {
  for (const listing of history.listings.values()) {
    if (listing.account === account && listing.advertId === advertId && listing.acceptedTick >= since)
      return true;
  }
  return false;
}
