/** The partner service with its complete history: the facts against which the bridge is checked. */
import { type FeedName, feedNames } from '../../../shared/contract/feeds.ts';
import { between, type Random } from './random.ts';
import type { Scheduler } from './scheduler.ts';
import { createTokenDesk, type TokenDesk } from './token-desk.ts';

export interface Change {
  readonly account: string;
  readonly feed: FeedName;
  /** ID of the advert; for an order its key, which no advert has. */
  readonly advertId: string;
  /** null: the service no longer knows the advert. */
  readonly status: string | null;
  readonly recordedAt: number;
  /** When the feed starts to list it. */
  readonly visibleAt: number;
  readonly tick: number;
}

/** A page as the service returned it. */
export interface Page {
  readonly account: string;
  readonly feed: FeedName;
  /** The page's entries, including malformed ones. */
  readonly data: readonly unknown[];
  readonly since: string;
  /** The cursor in the request; undefined: none, so the page begins at `since`. */
  readonly askedWith: string | undefined;
  readonly cursor: string;
  readonly hasMore: boolean;
  readonly at: number;
  readonly tick: number;
}

interface Bookmark {
  readonly account: string;
  readonly feed: FeedName;
  readonly since: string;
  readonly index: number;
  readonly epoch: number;
}

interface Feed {
  readonly log: { readonly entry: unknown; readonly recordedAt: number; readonly visibleAt: number }[];
  readonly statuses: Map<string, string | null>;
  /** Cursors of earlier epochs are rejected. */
  epoch: number;
}

export interface ServiceOptions {
  readonly scheduler: Scheduler;
  readonly maxVisibilityMs: number;
  readonly maxPerPage: number;
  readonly tokenLifeMs: number;
  readonly rotationMs: number;
  readonly idleMs: number;
}

/** The model's key of an object, because an order may have the same ID as an advert. */
export const objectKey = (feed: FeedName, id: string): string => (feed === 'adverts' ? id : `${feed}-${id}`);

export type Service = ReturnType<typeof createService>;

export function createService({ scheduler, maxVisibilityMs, maxPerPage, ...tokenOptions }: ServiceOptions) {
  const feeds = new Map<string, Feed>();
  const bookmarks = new Map<string, Bookmark>();
  const changes: Change[] = [];
  const pages = new Map<string, Page>();
  const tokens: TokenDesk = createTokenDesk({ scheduler, ...tokenOptions });

  function feedOf(account: string, name: FeedName): Feed {
    const feed = feeds.get(`${account}/${name}`) ?? { log: [], statuses: new Map(), epoch: 0 };
    feeds.set(`${account}/${name}`, feed);
    return feed;
  }

  function list(account: string, feed: FeedName, entry: unknown, random: Random): number {
    const { log } = feedOf(account, feed);
    const recordedAt = scheduler.now();
    const visibleAt = Math.max(log.at(-1)?.visibleAt ?? 0, recordedAt + between(random, 0, maxVisibilityMs));
    log.push({ entry, recordedAt, visibleAt });
    return visibleAt;
  }

  /** @returns the page; undefined when the cursor is rejected */
  function page(
    account: string,
    feed: FeedName,
    since: string,
    askedWith: string | undefined,
    random: Random,
  ): Page | undefined {
    const { log, epoch } = feedOf(account, feed);
    const now = scheduler.now();
    const mark = askedWith === undefined ? undefined : bookmarks.get(askedWith);
    const isTaken = mark?.account === account && mark.feed === feed && mark.since === since;
    if (askedWith !== undefined && !(isTaken && mark.epoch >= epoch)) return;
    const sinceMs = Date.parse(since);
    const firstAfter = log.findIndex(({ recordedAt }) => recordedAt > sinceMs);
    const from = mark?.index ?? (firstAfter < 0 ? log.length : firstAfter);
    let visible = log.length;
    while (visible > 0 && (log[visible - 1]?.visibleAt ?? 0) > now) visible -= 1;
    const to = Math.max(from, Math.min(visible, from + between(random, 1, maxPerPage)));
    const isSame = askedWith !== undefined && to === from;
    const cursor = isSame ? askedWith : `cursor-${bookmarks.size + 1}`;
    if (!isSame)
      bookmarks.set(cursor, { account, feed, since, index: Math.min(from, log.length) + (to - from), epoch });
    const data = log.slice(from, to).map(({ entry }) => entry);
    const given = {
      account,
      feed,
      data,
      since,
      askedWith,
      cursor,
      hasMore: to < visible,
      at: now,
      tick: scheduler.tick(),
    };
    if (!isSame) pages.set(cursor, given);
    return given;
  }

  return {
    tokens,
    changes: changes as readonly Change[],
    /** Each page by the cursor that it returned. */
    pages: pages as ReadonlyMap<string, Page>,
    page,
    /** Whether another page was returned for the same cursor before. */
    isPageAgain: ({ account, feed, askedWith, since, cursor }: Page): boolean =>
      [...pages.values()].some(
        (one) =>
          one.account === account &&
          one.feed === feed &&
          one.askedWith === askedWith &&
          one.since === since &&
          one.cursor !== cursor,
      ),
    status: (account: string, feed: FeedName, id: string): string | null =>
      feedOf(account, feed).statuses.get(id) ?? null,
    change(account: string, feed: FeedName, id: string, status: string | null, random: Random): void {
      feedOf(account, feed).statuses.set(id, status);
      const visibleAt = list(account, feed, id, random);
      changes.push({
        account,
        feed,
        advertId: objectKey(feed, id),
        status,
        recordedAt: scheduler.now(),
        visibleAt,
        tick: scheduler.tick(),
      });
    },
    /** Makes the feed list an entry that is not an ID. */
    listMalformed: (account: string, entry: unknown, random: Random): void =>
      void list(account, 'adverts', entry, random),
    rejectCursors(account: string): void {
      for (const feed of feedNames) feedOf(account, feed).epoch += 1;
    },
    /** Whether `cursor` is at the end of the feed. */
    isAtEnd(account: string, feed: FeedName, cursor: string | undefined): boolean {
      const mark = cursor === undefined ? undefined : bookmarks.get(cursor);
      const isOwn = mark?.account === account && mark.feed === feed;
      return isOwn && mark.index >= feedOf(account, feed).log.length;
    },
  };
}
