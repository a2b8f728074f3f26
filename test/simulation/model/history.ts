/** What the bridge really did, as an observer outside of it saw it. Moments are ticks: they order within a millisecond. */

import type { AdvertEvent, Envelope } from '../../../shared/contract/events.ts';
import type { ChangedAdvert } from '../../../shared/contract/messages.ts';
import type { OrderEvent } from '../../../shared/contract/order-events.ts';
import type { PartnerAccount } from '../../../shared/domain/partner-account.ts';
import type { FeedState } from '../../../shared/ports/feed-states.ts';
import type { Invariant } from './invariants.ts';
import type { Scheduler } from './scheduler.ts';
import { objectKey, type Page } from './service.ts';

/** A message that the queue accepted. */
export interface Listing {
  readonly key: string;
  readonly account: string;
  readonly generation: number;
  readonly advertId: string;
  readonly acceptedTick: number;
  readonly acceptedAt: number;
  /** The page that named it. */
  readonly page: Page | undefined;
}

/** A request for an advert that was answered with its status, or with its absence. */
export interface Fetch {
  /** The name that the requesting user is connected under. */
  readonly account: string;
  readonly user: string;
  readonly advertId: string;
  readonly process: string;
  readonly beganTick: number;
  /** When the service read the advert. */
  readonly seenTick: number;
  readonly seenAt: number;
  readonly status: string | null;
}

/** One event of an advert's history. */
export interface Published {
  readonly account: string;
  readonly advertId: string;
  readonly sequence: number;
  readonly status: string | null;
  readonly previousStatus: string | null;
  /** More than one: the same number came with different contents. */
  readonly texts: Set<string>;
  readonly firstTick: number;
  readonly fetch: Fetch | undefined;
  /** Recorded, and by a setting not given to the bus. */
  readonly isKeptOff: boolean;
}

export interface Violation {
  readonly invariant: Invariant;
  readonly message: string;
  /** `account/advert`, where there is one. */
  readonly subject?: string;
}

/** Everything that the feed listed after `sinceMs` is to be listed again by a page that is no older than the first one. */
export interface Resync {
  readonly account: string;
  readonly generation: number;
  readonly sinceMs: number;
  readonly firstTick: number;
}

export type History = ReturnType<typeof createHistory>;

export const subjectOf = ({
  account,
  advertId,
}: {
  readonly account: string;
  readonly advertId: string;
}): string => `${account}/${advertId}`;

export function createHistory(scheduler: Scheduler) {
  const listings = new Map<string, Listing>();
  const fetches = new Map<string, Fetch[]>();
  const events = new Map<string, Map<number, Published>>();
  /** Of the events under each subject. Those of a generation that is over are under `subject@generation`. */
  const generations = new Map<string, number>();
  const sources = new Map<string, Fetch>();
  const settledAt = new Map<string, number>();
  const brokenFeeds = new Set<string>();
  const judged = new Map<string, Set<string>>();
  const authorizations: Envelope[] = [];
  const violations: Violation[] = [];
  /** IDs that were listed, by account and generation. */
  const listed = new Map<string, number>();
  /** The generation of each account that is gone, up to which no change has to be told any more. */
  const forgotten = new Map<string, number>();
  /** When rows of adverts were removed last, by account and generation. */
  const removedTicks = new Map<string, number>();
  const connected = new Set<string>();
  /** By account and generation. */
  const startedAt = new Map<string, number>();
  /** The last resync of each account. */
  const resyncs = new Map<string, Resync>();
  const latest = new Map<string, number>();

  function putAside(subject: string): void {
    const numbered = events.get(subject);
    if (!numbered) return;
    events.delete(subject);
    events.set(`${subject}@${generations.get(subject)}`, numbered);
  }

  return {
    listings: listings as ReadonlyMap<string, Listing>,
    fetches: fetches as ReadonlyMap<string, readonly Fetch[]>,
    events: events as ReadonlyMap<string, ReadonlyMap<number, Published>>,
    authorizations: authorizations as readonly Envelope[],
    violations: violations as readonly Violation[],
    violated: (violation: Violation): void => void violations.push(violation),
    isForgotten: ({
      account,
      generation,
    }: {
      readonly account: string;
      readonly generation: number;
    }): boolean => generation <= (forgotten.get(account) ?? 0),
    /** A person begins to forget the account: its events so far are kept aside, to be checked as they are. */
    forgets(account: string, generation: number): void {
      forgotten.set(account, Math.max(generation, forgotten.get(account) ?? 0));
      for (const subject of [...events.keys()]) {
        if (subject.startsWith(`${account}/`) && !subject.includes('@')) putAside(subject);
      }
    },
    rowsRemoved: (account: string, generation: number): void =>
      void removedTicks.set(`${account}/${generation}`, scheduler.tick()),
    /** The account's row says that this generation is polled. */
    connected({ name, generation }: PartnerAccount): void {
      connected.add(`${name}/${generation}`);
      latest.set(name, generation);
    },
    /** A `connect` that failed half-way may leave a feed of a generation that its account never had. */
    wasConnected: ({ account, generation }: Pick<Listing, 'account' | 'generation'>): boolean =>
      connected.has(`${account}/${generation}`),
    /** Where reading began, for an account that was forgotten once and is there again. */
    startedAt: (account: string): number =>
      forgotten.has(account)
        ? (startedAt.get(`${account}/${latest.get(account)}`) ?? Number.POSITIVE_INFINITY)
        : 0,
    /** Where reading of a feed beside adverts began, in the account's present generation. */
    feedBegan: (account: string, feed: string): number | undefined =>
      startedAt.get(`${account}/${latest.get(account)}/${feed}`),
    registered({ partnerAccount: account, generation, feed, since }: FeedState): void {
      const key = `${account}/${generation}${feed === 'adverts' ? '' : `/${feed}`}`;
      if (!startedAt.has(key)) startedAt.set(key, Date.parse(since));
    },

    resyncs: resyncs as ReadonlyMap<string, Resync>,
    resyncBegan(
      { partnerAccount: account, generation }: FeedState,
      since: string,
      first: Page | undefined,
    ): void {
      if (first)
        resyncs.set(account, { account, generation, sinceMs: Date.parse(since), firstTick: first.tick });
    },

    listed: (account: string, generation: number): number => listed.get(`${account}/${generation}`) ?? 0,
    counted(account: string, generation: number, ids: number): void {
      const key = `${account}/${generation}`;
      listed.set(key, (listed.get(key) ?? 0) + ids);
    },

    accepted(
      { key, partnerAccount: account, generation, feed, advertId: id }: ChangedAdvert,
      page: Page | undefined,
    ): void {
      if (listings.has(key)) return;
      const advertId = objectKey(feed, id);
      this.counted(account, generation, 1);
      const moment = { acceptedTick: scheduler.tick(), acceptedAt: scheduler.now() };
      listings.set(key, { key, account, generation, advertId, page, ...moment });
    },

    /** When each message was done with, by its key. */
    settledAt: settledAt as ReadonlyMap<string, number>,
    settled: (key: string): void => void settledAt.set(key, scheduler.now()),

    /** Partner accounts whose feed was paused because what it answered was wrong, time and again. */
    brokenFeeds: brokenFeeds as ReadonlySet<string>,
    feedBroken: (partnerAccount: string): void => void brokenFeeds.add(partnerAccount),

    /** By the key of each message: the verdicts that it got and that were meant to end its wait in the queue or outside. */
    judged: judged as ReadonlyMap<string, ReadonlySet<string>>,
    judge(key: string, verdict: string): void {
      judged.set(key, (judged.get(key) ?? new Set()).add(verdict));
    },

    fetched(fetch: Fetch): void {
      const subject = subjectOf(fetch);
      const known = fetches.get(subject);
      if (known) known.push(fetch);
      else fetches.set(subject, [fetch]);
    },

    /** A row was written with this event in it, after that fetch. */
    written(envelope: string, fetch: Fetch | undefined): void {
      if (fetch && !sources.has(envelope)) sources.set(envelope, fetch);
    },

    /** @param isKeptOff by a setting: recorded, and not given to the bus */
    published(envelope: string, isKeptOff = false): void {
      const event = JSON.parse(envelope) as Envelope;
      if (!('status' in event.detail.data)) return void authorizations.push(event);
      const { metadata, data } = (event as AdvertEvent | OrderEvent).detail;
      const { status, previousStatus } = data;
      const advertId = 'orderId' in data ? objectKey('orders', data.orderId) : data.advertId;
      const { partnerAccount: account, generation } = metadata;
      // What is published yet goes on with the history that was put aside, but for a fetch that was under way while the rows
      // were removed: it may still end.
      const isOver = generation <= (forgotten.get(account) ?? 0);
      const removedTick = removedTicks.get(`${account}/${generation}`) ?? 0;
      if (isOver && (sources.get(envelope)?.beganTick ?? removedTick) < removedTick) return;
      const subject = isOver ? `${account}/${advertId}@${generation}` : `${account}/${advertId}`;
      if (!isOver && generations.get(subject) !== generation) putAside(subject);
      if (!isOver) generations.set(subject, generation);
      const numbered = events.get(subject) ?? new Map<number, Published>();
      events.set(subject, numbered);
      const { sequence } = metadata;
      const before = numbered.get(sequence);
      if (before) return void before.texts.add(envelope);
      numbered.set(sequence, {
        account,
        advertId,
        sequence,
        status,
        previousStatus,
        texts: new Set([envelope]),
        firstTick: scheduler.tick(),
        fetch: sources.get(envelope),
        isKeptOff,
      });
      if (sequence > 1 && !numbered.has(sequence - 1)) {
        const message = `event ${sequence} of advert ${subject} was accepted before event ${sequence - 1}`;
        violations.push({ invariant: 'one-history', subject, message });
      }
    },
  };
}
