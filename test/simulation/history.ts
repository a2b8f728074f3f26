/** What the bridge really did, as an observer outside of it saw it. Moments are ticks: they order within a millisecond. */
import type { AdvertEvent, Envelope } from '../../shared/contract/events.ts';
import type { Scheduler } from './scheduler.ts';
import type { Page } from './service.ts';

/** A message that the queue accepted. */
export interface Listing {
  readonly key: string;
  readonly account: string;
  readonly advertId: string;
  readonly acceptedTick: number;
  readonly acceptedAt: number;
  /** The page that named it. */
  readonly page: Page | undefined;
}

/** A look at an advert that was answered with its status, or with its absence. */
export interface Fetch {
  readonly account: string;
  readonly advertId: string;
  readonly process: string;
  readonly beganTick: number;
  /** When the service looked. */
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
}

export interface Violation {
  readonly invariant: string;
  readonly message: string;
  /** `account/advert`, where there is one. */
  readonly subject?: string;
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
  const sources = new Map<string, Fetch>();
  const settledAt = new Map<string, number>();
  const authorizations: Envelope[] = [];
  const violations: Violation[] = [];
  const counts = { malformed: 0, repeated: 0, listed: 0 };

  return {
    listings: listings as ReadonlyMap<string, Listing>,
    fetches: fetches as ReadonlyMap<string, readonly Fetch[]>,
    events: events as ReadonlyMap<string, ReadonlyMap<number, Published>>,
    authorizations: authorizations as readonly Envelope[],
    violations: violations as readonly Violation[],
    violated: (violation: Violation): void => void violations.push(violation),
    counts,

    accepted(key: string, account: string, advertId: string, page: Page | undefined): void {
      if (listings.has(key)) return;
      const moment = { acceptedTick: scheduler.tick(), acceptedAt: scheduler.now() };
      listings.set(key, { key, account, advertId, page, ...moment });
    },

    /** When each message was done with, by its key. */
    settledAt: settledAt as ReadonlyMap<string, number>,
    settled: (key: string): void => void settledAt.set(key, scheduler.now()),

    fetched(fetch: Fetch): void {
      const subject = subjectOf(fetch);
      const known = fetches.get(subject);
      if (known) known.push(fetch);
      else fetches.set(subject, [fetch]);
    },

    /** A row was written with this event in it, after that look. */
    written(envelope: string, fetch: Fetch | undefined): void {
      if (fetch && !sources.has(envelope)) sources.set(envelope, fetch);
    },

    published(envelope: string): void {
      const event = JSON.parse(envelope) as Envelope;
      if (!('advertId' in event.detail.data)) return void authorizations.push(event);
      const { metadata, data } = (event as AdvertEvent).detail;
      const { advertId, status, previousStatus } = data;
      const subject = `${metadata.partnerAccount}/${advertId}`;
      const numbered = events.get(subject) ?? new Map<number, Published>();
      events.set(subject, numbered);
      const { sequence } = metadata;
      const before = numbered.get(sequence);
      if (before) return void before.texts.add(envelope);
      numbered.set(sequence, {
        account: metadata.partnerAccount,
        advertId,
        sequence,
        status,
        previousStatus,
        texts: new Set([envelope]),
        firstTick: scheduler.tick(),
        fetch: sources.get(envelope),
      });
      if (sequence > 1 && !numbered.has(sequence - 1)) {
        const message = `event ${sequence} of advert ${subject} was accepted before event ${sequence - 1}`;
        violations.push({ invariant: 'I3', subject, message });
      }
    },
  };
}
