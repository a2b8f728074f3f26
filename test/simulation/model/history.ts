/**
 * Records what the bridge really did, as seen from outside. Ticks order events that happen within the same
 * millisecond.
 */

import type { AdvertEvent, Envelope } from '../../../shared/contract/events.ts';
import type { ChangedAdvert } from '../../../shared/contract/messages.ts';
import { blamingHold } from '../../../shared/domain/holds.ts';
import type { PartnerAccount } from '../../../shared/domain/partner-account.ts';
import type { FeedState } from '../../../shared/state/feed-states.ts';
import type { Scheduler } from './scheduler.ts';
import type { Page } from './service.ts';

/** A message that the queue accepted. */
export interface Listing {
  readonly key: string;
  readonly account: string;
  readonly generation: number;
  readonly advertId: string;
  readonly acceptedTick: number;
  readonly acceptedAt: number;
  /** The page that listed it. */
  readonly page: Page | undefined;
}

/** A request for an advert that was answered with its status, or with its absence. */
export interface Fetch {
  /** The name under which the requesting user is connected. */
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
  /** More than one means that the same sequence number was published with different contents. */
  readonly texts: Set<string>;
  readonly firstAt: number;
  readonly fetch: Fetch | undefined;
  /** Recorded, but not published because of a setting. */
  readonly isKeptOff: boolean;
}

/** The invariants that must hold in every run, whatever fails: docs/contribute/reliability.md says what each means. */
export type Invariant =
  | 'no-change-lost'
  | 'cursor-behind-queue'
  | 'one-history'
  | 'previous-status'
  | 'ordered-bus'
  | 'one-poller'
  | 'credentials-kept'
  | 'service-not-hammered'
  | 'operator-pause-kept'
  | 'nobody-delays-another'
  | 'few-dead-letters'
  | 'books-balance'
  | 'history-answers'
  | 'audit-true'
  /** The run itself ends without an error. */
  | 'run-ends';

export interface Violation {
  readonly invariant: Invariant;
  readonly message: string;
  /** `account/advert`, if it concerns one. */
  readonly subject?: string;
}

/**
 * After a resync, everything that the feed listed after `sinceMs` must be listed again, by a page no older than its
 * beginning.
 */
export interface Resync {
  readonly account: string;
  readonly generation: number;
  readonly sinceMs: number;
  readonly firstTick: number;
}

export const subjectOf = ({ account, advertId }: Pick<Listing, 'account' | 'advertId'>): string =>
  `${account}/${advertId}`;

export function createHistory(scheduler: Scheduler) {
  const listings = new Map<string, Listing>();
  const fetches = new Map<string, Fetch[]>();
  const events = new Map<string, Map<number, Published>>();
  /**
   * The generation of the events under each subject. Events of an ended generation are under `subject@generation`.
   */
  const generations = new Map<string, number>();
  const sources = new Map<string, Fetch>();
  const settledAt = new Map<string, number>();
  const malformed = new Map<string, number>();
  const judged = new Map<string, Set<string>>();
  const deadLetteredAt: number[] = [];
  const authorizations: Envelope[] = [];
  const violations: Violation[] = [];
  /** The generation of each forgotten account; changes up to this generation need no event any more. */
  const forgotten = new Map<string, number>();
  /** When rows of adverts were last deleted, by account and generation. */
  const removedTicks = new Map<string, number>();
  const connected = new Set<string>();
  const oneAtATime = new Set<string>();
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
    listings,
    fetches,
    events,
    authorizations,
    violations,
    violated: (violation: Violation): void => void violations.push(violation),
    isForgotten: ({ account, generation }: Pick<Listing, 'account' | 'generation'>): boolean =>
      generation <= (forgotten.get(account) ?? 0),
    /**
     * A person starts to forget the account: its events so far are kept under a separate key, and are still checked.
     */
    forgets(account: string, generation: number): void {
      forgotten.set(account, Math.max(generation, forgotten.get(account) ?? 0));
      for (const subject of [...events.keys()]) {
        if (subject.startsWith(`${account}/`) && !subject.includes('@')) putAside(subject);
      }
    },
    rowsRemoved: (account: string, generation: number): void =>
      void removedTicks.set(`${account}/${generation}`, scheduler.tick()),
    /** The account's row now names this generation, so the bridge polls it. */
    connected(account: PartnerAccount): void {
      const { name, generation } = account;
      connected.add(`${name}/${generation}`);
      latest.set(name, generation);
      if (blamingHold(account)) oneAtATime.add(name);
    },
    /** The accounts whose adverts have gone one at a time. */
    oneAtATime: oneAtATime as ReadonlySet<string>,
    /**
     * Whether the account's row ever named this generation. A `connect` that failed half-way may leave a feed of
     * another one.
     */
    wasConnected: ({ account, generation }: Pick<Listing, 'account' | 'generation'>): boolean =>
      connected.has(`${account}/${generation}`),
    /** Where reading began, for an account that was forgotten and connected again. */
    startedAt: (account: string): number =>
      forgotten.has(account)
        ? (startedAt.get(`${account}/${latest.get(account)}`) ?? Number.POSITIVE_INFINITY)
        : 0,
    registered({ partnerAccount: account, generation, since }: FeedState): void {
      const key = `${account}/${generation}`;
      if (!startedAt.has(key)) startedAt.set(key, Date.parse(since));
    },

    resyncs,
    resyncBegan({ partnerAccount: account, generation }: FeedState, since: string): void {
      const begun = { sinceMs: Date.parse(since), firstTick: scheduler.tick() };
      resyncs.set(account, { account, generation, ...begun });
    },

    accepted(
      { key, partnerAccount: account, generation, advertId }: ChangedAdvert,
      page: Page | undefined,
    ): void {
      if (listings.has(key)) return;
      const moment = { acceptedTick: scheduler.tick(), acceptedAt: scheduler.now() };
      listings.set(key, { key, account, generation, advertId, page, ...moment });
    },

    /** When each message was settled, by its key. */
    settledAt,
    settled: (key: string): void => void settledAt.set(key, scheduler.now()),

    /** By partner account: dead letters of entries that are no IDs. */
    malformed,
    sentMalformed: (account: string): void => void malformed.set(account, 1 + (malformed.get(account) ?? 0)),

    /** By message key: the verdicts meant to end the message's wait, in the queue or outside. */
    judged,
    deadLetteredAt,
    judge(key: string, verdict: string): void {
      if (verdict === 'dead-letter') deadLetteredAt.push(scheduler.now());
      judged.set(key, (judged.get(key) ?? new Set()).add(verdict));
    },

    fetched(fetch: Fetch): void {
      const subject = subjectOf(fetch);
      const known = fetches.get(subject);
      if (known) known.push(fetch);
      else fetches.set(subject, [fetch]);
    },

    /** A row was written that contains this event, based on this fetch. */
    written(envelope: string, fetch: Fetch | undefined): void {
      if (fetch && !sources.has(envelope)) sources.set(envelope, fetch);
    },

    /** @param isKeptOff recorded, but not published because of a setting */
    published(envelope: string, isKeptOff = false): void {
      const event = JSON.parse(envelope) as Envelope;
      if (!('status' in event.detail.data)) return void authorizations.push(event);
      const { metadata, data } = (event as AdvertEvent).detail;
      const { advertId, status, previousStatus } = data;
      const { partnerAccount: account, generation } = metadata;
      // Events of an ended generation belong to the history kept separately. Ignored: an event of a fetch that was
      // under way while the rows were deleted, which may still be published.
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
        firstAt: scheduler.now(),
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
