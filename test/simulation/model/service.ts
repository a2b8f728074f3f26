/** The partner service with its complete history: the facts against which the bridge is checked. */
import { between, type Random } from './random.ts';
import { createTokenDesk, type TokenDeskOptions } from './token-desk.ts';

export interface Change {
  readonly account: string;
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
  /** The page's entries, including malformed ones. */
  readonly data: readonly unknown[];
  readonly since: string;
  /** The cursor in the request; undefined: none, so the page begins at `since`. */
  readonly askedWith: string | undefined;
  readonly cursor: string;
  readonly hasMore: boolean;
  readonly tick: number;
}

interface Bookmark {
  readonly account: string;
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

export interface ServiceOptions extends TokenDeskOptions {
  readonly maxVisibilityMs: number;
  readonly maxPerPage: number;
}

export function createService({ maxVisibilityMs, maxPerPage, ...tokenOptions }: ServiceOptions) {
  const { scheduler } = tokenOptions;
  const feeds = new Map<string, Feed>();
  const bookmarks = new Map<string, Bookmark>();
  const changes: Change[] = [];
  const pages = new Map<string, Page>();
  const tokens = createTokenDesk(tokenOptions);

  function feedOf(account: string): Feed {
    const feed = feeds.get(account) ?? { log: [], statuses: new Map(), epoch: 0 };
    feeds.set(account, feed);
    return feed;
  }

  function list(account: string, entry: unknown, random: Random): number {
    const { log } = feedOf(account);
    const recordedAt = scheduler.now();
    const visibleAt = Math.max(log.at(-1)?.visibleAt ?? 0, recordedAt + between(random, 0, maxVisibilityMs));
    log.push({ entry, recordedAt, visibleAt });
    return visibleAt;
  }

  /** @returns the page; undefined when the cursor is rejected */
  function page(
    account: string,
    since: string,
    { cursor: askedWith, limit }: { readonly cursor: string | undefined; readonly limit: number },
    random: Random,
  ): Page | undefined {
    const { log, epoch } = feedOf(account);
    const now = scheduler.now();
    const mark = askedWith === undefined ? undefined : bookmarks.get(askedWith);
    const isTaken = mark?.account === account && mark.since === since;
    if (askedWith !== undefined && !(isTaken && mark.epoch >= epoch)) return;
    const sinceMs = Date.parse(since);
    const firstAfter = log.findIndex(({ recordedAt }) => recordedAt > sinceMs);
    const from = mark?.index ?? (firstAfter < 0 ? log.length : firstAfter);
    let visible = log.length;
    while (visible > 0 && (log[visible - 1]?.visibleAt ?? 0) > now) visible -= 1;
    const to = Math.max(from, Math.min(visible, from + Math.min(limit, between(random, 1, maxPerPage))));
    const isSame = askedWith !== undefined && to === from;
    const cursor = isSame ? askedWith : `cursor-${bookmarks.size + 1}`;
    if (!isSame)
      bookmarks.set(cursor, { account, since, index: Math.min(from, log.length) + (to - from), epoch });
    const data = log.slice(from, to).map(({ entry }) => entry);
    const given = { account, data, since, askedWith, cursor, hasMore: to < visible, tick: scheduler.tick() };
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
    isPageAgain: ({ account, askedWith, since, cursor }: Page): boolean =>
      [...pages.values()].some(
        (one) =>
          one.account === account &&
          one.askedWith === askedWith &&
          one.since === since &&
          one.cursor !== cursor,
      ),
    /** @param lagMs so long after the feed lists a change, the advert is still answered as before */
    status(account: string, id: string, lagMs = 0): string | null {
      if (lagMs === 0) return feedOf(account).statuses.get(id) ?? null;
      const own = changes.filter((change) => change.account === account && change.advertId === id);
      const shown = own.findLast(({ visibleAt }) => visibleAt + lagMs <= scheduler.now());
      return (shown ?? own[0])?.status ?? null;
    },
    change(account: string, id: string, status: string | null, random: Random): void {
      feedOf(account).statuses.set(id, status);
      const visibleAt = list(account, id, random);
      const moment = { recordedAt: scheduler.now(), visibleAt, tick: scheduler.tick() };
      changes.push({ account, advertId: id, status, ...moment });
    },
    /** Makes the feed list an entry that is not an ID. */
    listMalformed: (account: string, entry: unknown, random: Random): void =>
      void list(account, entry, random),
    rejectCursors(account: string): void {
      feedOf(account).epoch += 1;
    },
    /** Whether `cursor` is at the end of the feed. */
    isAtEnd(account: string, cursor: string | undefined): boolean {
      const mark = cursor === undefined ? undefined : bookmarks.get(cursor);
      const isOwn = mark?.account === account;
      return isOwn && mark.index >= feedOf(account).log.length;
    },
  };
}
