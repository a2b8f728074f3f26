/** What `connect` asks of the service with an access token that it was just given. */
import { advertIdPattern } from '../../shared/contract/checks.ts';
import type { Clock } from '../../shared/domain/clock.ts';
import { asFault, type FaultKind, PartnerFault } from '../../shared/domain/faults.ts';
import { advertsFeed } from '../../shared/domain/feed.ts';
import type { Observer, PartnerAccount } from '../../shared/domain/ports.ts';
import type { Secret } from '../../shared/domain/secret.ts';
import type { FeedLook, FeedRegister, KnownAdverts } from './ports.ts';

export interface FirstLookDeps {
  readonly feedStates: FeedRegister;
  readonly feedLook: FeedLook;
  readonly knownAdverts: KnownAdverts;
  readonly clock: Clock;
  readonly observer: Observer;
}

/** What the first request for the feed brought. */
export type FirstPage =
  | { readonly kind: 'read'; readonly listed: number; readonly hasMore: boolean }
  | { readonly kind: 'failed'; readonly fault: FaultKind; readonly reason: string };

export interface Look {
  readonly partnerAccount: string;
  readonly token: Secret;
  readonly deadlineMs: number;
}

/** Enough to know a user by, and no burden: the service's own default (partner-api.md §4.1). */
const limit = 100;
/** A slow service must not keep a pair from being stored. */
const mostMs = 10_000;

export function createFirstLook(deps: FirstLookDeps) {
  const { feedStates, feedLook, knownAdverts, clock, observer } = deps;

  const pageSince = (since: string, { partnerAccount, token, deadlineMs }: Look) =>
    feedLook.feedPage(
      token,
      { feed: advertsFeed, since, limit },
      { partnerAccount, deadlineMs: Math.min(deadlineMs, clock.now() + mostMs) },
    );

  /** Whether the feed answers; never throws, for the pair is stored by then and good or not by itself. */
  async function firstPage(since: string, look: Look): Promise<FirstPage> {
    try {
      const { page } = await pageSince(since, look);
      return { kind: 'read', listed: page.data.length, hasMore: page.hasMore };
    } catch (error) {
      const { code, message } = asFault(error);
      return { kind: 'failed', fault: code, reason: message };
    }
  }

  /**
   * Refuses a user other than the one whose history stands under the name, where that can be told: no answer of the
   * service says who a token is for, but from the same `since` the feed lists again what it has listed before
   * (partner-api.md §4.1), so adverts that the bridge knows. When none of them is known, it is another user's feed.
   *
   * @throws {PartnerFault} `other-user`
   */
  async function refuseOtherUser({ generation }: PartnerAccount, look: Look): Promise<void> {
    const { partnerAccount } = look;
    const state = (await feedStates.list()).find(
      (feed) => feed.partnerAccount === partnerAccount && feed.feed === advertsFeed.name,
    );
    // Never read to its end: hardly an advert of it was fetched yet.
    if (state?.lastSuccess === undefined) return;
    const ids = await pageSince(state.since, look).then(
      ({ page }) => page.data.filter((id) => typeof id === 'string' && advertIdPattern.test(id)),
      (error) => {
        observer.info('not told whether the same user authorized', { partnerAccount, error });
        return [];
      },
    );
    if (ids.length === 0) return;
    const rows = await Promise.all(
      ids.map((advertId) => knownAdverts.read({ partnerAccount, generation, advertId: String(advertId) })),
    );
    if (rows.some((row) => row !== undefined)) return;
    throw new PartnerFault(
      'other-user',
      `none of the ${ids.length} adverts that changed since ${state.since} is known under ${partnerAccount}`,
    );
  }

  return { firstPage, refuseOtherUser };
}
