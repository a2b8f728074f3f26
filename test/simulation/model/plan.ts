/**
 * What a plan says: the size of the world, what changes in it and when, which processes run and what is broken.
 * `planOf` (draw-plan.ts) makes one from a seed.
 */
import type { PublishedEvents } from '../../../shared/domain/advert-event.ts';
import type { Ill } from './ill.ts';
import type { Rates, Temper } from './incidents.ts';
import type { Limits } from './limits.ts';

/** When something happens, ms from the start. */
export interface Moment {
  /** Identifies the incident in every run of the same seed. */
  readonly key: string;
  readonly atMs: number;
}

export interface AccountMoment extends Moment {
  readonly account: string;
}

export interface PlannedChange extends AccountMoment {
  /** undefined: the feed lists an entry that is not an ID. */
  readonly advertId: string | undefined;
  readonly status: string | null;
}

/**
 * A condition that lasts for half an hour while nothing else goes wrong, so that only the delays of messages limit
 * their receives: the service asks to wait for one or five seconds; accounts cannot be read; or an advert kills the
 * worker that fetches it.
 */
export type Siege = 'waits-1' | 'waits-5' | 'accounts-unreadable' | 'killer-advert';

/** Something is broken from a given time on, for a given duration. */
export interface Trouble {
  readonly key: string;
  readonly kind: 'outage' | 'block' | 'bus-down' | Siege;
  readonly account: string;
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface Plan {
  readonly seed: number;
  /** undefined: an ordinary one. */
  readonly world: string | undefined;
  readonly limits: Limits;
  readonly temper: Temper;
  readonly rates: Rates;
  /** Rates of ports that have their own. */
  readonly ratesOfPorts: ReadonlyMap<string, Partial<Rates>>;
  readonly accounts: readonly string[];
  readonly chaosMs: number;
  readonly changes: readonly PlannedChange[];
  readonly troubles: readonly Trouble[];
  readonly ills: readonly Ill[];
  /** The same world without what is ill, to compare delays with; undefined: delays are not compared. */
  readonly healthy?: Plan;
  /** Every advert is refused alike for a while: few messages may be dead-lettered. */
  readonly refusesAlike?: boolean;
  /** An account with so many changes at once that they take minutes; undefined: none. */
  readonly backlogOf?: string;
  /** Reads of a secret return the version of up to this long ago. */
  readonly secretLagMs?: number;
  /** Processes stand still for a while and go on: functions that ran out of time, or machines that were suspended. */
  readonly freezes?: boolean;
  /** A delivery is sometimes handed to a second worker too. */
  readonly handsTwice?: boolean;
  /** Clocks that are wrong by `byMs` until `untilMs`: of the processes whose names begin so, or of all. */
  readonly offClock?: { readonly processes: string; readonly byMs: number; readonly untilMs: number };
  readonly drains: readonly Moment[];
  readonly workers: number;
  readonly revocations: readonly (AccountMoment & {
    readonly backMs: number;
    /** Revokes only the scope that the bridge needs, not the whole authorization. */
    readonly isOfScope: boolean;
  })[];
  /** A person disconnects or forgets the account, and connects it again. */
  readonly departures: readonly (AccountMoment & {
    readonly backMs: number;
    readonly forgets: boolean;
    /** The user revokes the authorization this long before the person leaves; 0: not at all. */
    readonly revokedMs: number;
  })[];
  /** A person gives the name to another user of the service. */
  readonly handovers: readonly (AccountMoment & {
    /** Disconnects first, and connects after this time; undefined: connects the new user without disconnecting. */
    readonly awayMs: number | undefined;
    /** At first, the person forgets to say that it is another user. */
    readonly forgetsToSay: boolean;
    /** The earlier user revokes the authorization this long before; undefined: not at all. */
    readonly revokedMs: number | undefined;
  })[];
  /** Two people connect the same new name at the same time. */
  readonly twins: boolean;
  /** An account that stays revoked until the end. */
  readonly lostAccount: string | undefined;
  readonly redrives: readonly Moment[];
  readonly rejections: readonly AccountMoment[];
  /** A person audits what was published. */
  readonly audits: readonly AccountMoment[];
  /** How many adverts of each account the drain audits a day; a run lasts some minutes. */
  readonly auditSample: number;
  /** A person has a feed read again, starting `backMs` before. */
  readonly resyncs: readonly (AccountMoment & {
    readonly backMs: number;
  })[];
  readonly maxSkewMs: number;
  readonly maxLateMs: number;
  /** May be shorter than a batch takes, so that two workers have the same message. */
  readonly visibilityMs: number;
  /** Messages older than this are dead-lettered after a transient fault. */
  readonly maxAgeMs: number;
  /** Number of advert-specific faults before the message is dead-lettered. */
  readonly advertTries: number;
  /** Number of adverts that a worker receives at once. */
  readonly maxGroups: number;
  /** Below a minute, one run of the drain polls several times. */
  readonly pollSeconds: number;
  /** The account is revoked and connected again just when a refresh is about to store its token pair. */
  readonly revokesWhileStoring: boolean;
  readonly rejectionStyle: number;
  readonly sendsDate: boolean;
  readonly requestsPerSecond: number;
  /** A person pauses the account, and ends the pause early. */
  readonly pauses: readonly (AccountMoment & {
    readonly forMs: number;
    readonly endsMs: number;
  })[];
  /** An operator pauses an account or the whole bridge, and resumes it or lets the pause end by itself. */
  readonly operatorPauses: readonly (Moment & {
    /** undefined: the whole bridge. */
    readonly account: string | undefined;
    /** undefined: the pause has no end. */
    readonly forMs: number | undefined;
    /** When it is resumed, relative to its start; undefined: it ends by itself. */
    readonly resumedMs: number | undefined;
    /** Also ends a pause that the service asked for. */
    readonly early: boolean;
  })[];
  /** The whole bridge is paused for the days at the end of a run: tokens must be kept alive even then. */
  readonly pausesAtLast: boolean;
  /** A person ends an open circuit, or a pause that the service asked for, if there is one. */
  readonly lifts: readonly Moment[];
  /** Settings that keep events from being published. */
  readonly publishedEvents: PublishedEvents;
  readonly circuitSeconds: number;
  readonly siege: Siege | undefined;
  /** Longer waits happen outside the queue. */
  readonly longestHiddenMs: number;
  /**
   * Receives after which fan-out dead-letters a message (`maxReceives`), and a higher number after which the queue
   * itself does.
   */
  readonly maxReceives: number;
  readonly queueMaxReceives: number;
  readonly confirmUnavailableSeconds: number;
  readonly overlapSeconds: number;
  readonly maxPauseSeconds: number;
  readonly service: {
    readonly maxVisibilityMs: number;
    readonly maxPerPage: number;
    readonly tokenLifeMs: number;
    readonly rotationMs: number;
    readonly idleMs: number;
  };
}
