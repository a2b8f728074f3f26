import { defaultFeeds, type FeedName } from '../../shared/contract/feeds.ts';
import type { PartnerAccount } from '../../shared/domain/partner-account.ts';
import { stopOf } from '../../shared/domain/partner-account.ts';
import type { FeedState, FeedStates } from '../../shared/ports/feed-states.ts';
import type { Observer } from '../../shared/ports/observer.ts';
import { restartOf } from './read-page.ts';

export interface BeginDeps {
  readonly feedStates: Pick<FeedStates, 'register'>;
  readonly observer: Observer;
  readonly settings: {
    readonly overlapSeconds: number;
    /** Which feeds are polled. Default: adverts. */
    readonly feeds?: readonly FeedName[] | undefined;
  };
}

/**
 * Registers enabled feeds other than adverts for partner accounts that do not have them yet; `connect` registers only
 * the adverts feed. A new feed begins where the account's adverts feed would start over: at its last success minus the
 * overlap, by the service's clock, or else at its first `since`. Never rejects: a later round registers a feed that
 * could not be registered now.
 *
 * @returns the registered feeds
 */
export async function beginFeeds(
  { feedStates, observer, settings }: BeginDeps,
  states: readonly FeedState[],
  accounts: ReadonlyMap<string, PartnerAccount>,
  nowMs: number,
): Promise<FeedState[]> {
  const optional = (settings.feeds ?? defaultFeeds).filter((feed) => feed !== 'adverts');
  if (optional.length === 0) return [];
  const keyOf = ({ partnerAccount, generation }: FeedState, feed: string) =>
    `${partnerAccount}/${generation}/${feed}`;
  const registered = new Set(states.map((state) => keyOf(state, state.feed)));
  const begun: FeedState[] = [];
  for (const adverts of states.filter(({ feed }) => feed === 'adverts')) {
    const { partnerAccount, generation } = adverts;
    const account = accounts.get(partnerAccount);
    // While an account is being connected, it counts as stopped until it has its token.
    if (account?.generation !== generation || stopOf(account)) continue;
    for (const feed of optional.filter((name) => !registered.has(keyOf(adverts, name)))) {
      const since = restartOf(adverts, settings.overlapSeconds * 1000, nowMs);
      const state = { partnerAccount, generation, feed, since, resets: 0, resetsInARow: 0 };
      try {
        await feedStates.register(state);
        observer.info('feed begun', { partnerAccount, feed, since });
        begun.push(state);
      } catch (error) {
        observer.warn('a feed could not be begun: the next run tries again', { partnerAccount, feed, error });
      }
    }
  }
  return begun;
}
