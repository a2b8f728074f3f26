/** What `connect` asks of the service with an access token that it was just given. */
import { advertIdPattern } from '../../shared/contract/checks.ts';
import type { Clock } from '../../shared/domain/clock.ts';
import { asFault, type FaultKind, PartnerFault } from '../../shared/domain/faults.ts';
import { advertsFeed, pageLimit } from '../../shared/domain/feed.ts';
import type { BookKeeper, Observer, PartnerAccount } from '../../shared/domain/ports.ts';
import type { Secret } from '../../shared/domain/secret.ts';
import type { FeedLook, FeedRegister, KnownAdverts } from './ports.ts';

export interface FirstLookDeps {
  readonly feedStates: FeedRegister;
  readonly feedLook: FeedLook;
  readonly knownAdverts: KnownAdverts;
  readonly bookKeeper: Pick<BookKeeper, 'read'>;
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

/** Adverts looked up at a time: a user is nearly always known by the first few. */
const lookUpAtOnce = 100;
/** A slow service must not keep a pair from being stored. */
const mostMs = 10_000;

export function createFirstLook(deps: FirstLookDeps) {
  const { feedStates, feedLook, knownAdverts, bookKeeper, clock, observer } = deps;

  const pageSince = (since: string, { partnerAccount, token, deadlineMs }: Look) =>
    feedLook.feedPage(
      token,
      { feed: advertsFeed, since, limit: pageLimit },
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
   * Refuses a user other than the one whose history stands under the name, where that can be told. No answer of the
   * service says who a token is for; but from the same `since` the feed lists again what it has listed before
   * (partner-api.md §4.1). When it names none of the adverts that have a history here, it is another user's.
   *
   * @throws {PartnerFault} `other-user`
   */
  async function refuseOtherUser({ generation }: PartnerAccount, look: Look): Promise<void> {
    const { partnerAccount } = look;
    const { events, unavailable } = await bookKeeper.read(partnerAccount, generation);
    const state = (await feedStates.list()).find(
      (feed) => feed.partnerAccount === partnerAccount && feed.feed === advertsFeed.name,
    );
    if (events + unavailable === 0 || !state) return;
    const ids = await listedSince(state.since, look);
    if (!ids || (await isAnyKnown({ partnerAccount, generation }, ids))) return;
    throw new PartnerFault(
      'other-user',
      `of what changed since ${state.since} no advert is known under ${partnerAccount}`,
    );
  }

  /** All of the feed's adverts, when there are some and they fit on one page; else nothing can be told by them. */
  async function listedSince(since: string, look: Look): Promise<readonly string[] | undefined> {
    try {
      const { page } = await pageSince(since, look);
      const ids = page.data.filter((id): id is string => typeof id === 'string' && advertIdPattern.test(id));
      return ids.length > 0 && !page.hasMore ? ids : undefined;
    } catch (error) {
      const { partnerAccount } = look;
      observer.info('not told whether the same user authorized', { partnerAccount, error });
      return undefined;
    }
  }

  async function isAnyKnown(
    account: { readonly partnerAccount: string; readonly generation: number },
    ids: readonly string[],
  ): Promise<boolean> {
    for (let start = 0; start < ids.length; start += lookUpAtOnce) {
      const some = ids.slice(start, start + lookUpAtOnce);
      const rows = await Promise.all(some.map((advertId) => knownAdverts.read({ ...account, advertId })));
      if (rows.some((row) => row !== undefined)) return true;
    }
    return false;
  }

  return { firstPage, refuseOtherUser };
}
