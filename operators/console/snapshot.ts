/** What the server tells the page: plain JSON, so that the page needs nothing of the bridge but these types. */
import type { Finding } from '../operations/findings/findings.ts';
import type { Status as Facts, PrintedDeadLetter } from '../operations/printed.ts';
import type { Break } from './options.ts';

export type { Break, Facts, Finding };

/** Everything that the page shows about now; the server sends it again whenever it has been read. */
export interface Snapshot {
  readonly bridge: {
    readonly kind: 'local' | 'stack';
    /** The folder, or the stack. */
    readonly name: string;
    /** The command line for this bridge, with `{}` in place of the words of a command. */
    readonly command: string;
    /** The command that starts this console again. */
    readonly again: string;
    readonly version: string;
    /** Of the whole bridge; null until it is known. */
    readonly requestsPerSecond: number | null;
    /** Between two polls; null until it is known. */
    readonly pollSeconds: number | null;
    readonly isReadOnly: boolean;
  };
  /** When the facts were read, ms since 1970. */
  readonly at: number;
  /** Null until they could be read once. */
  readonly facts: Facts | null;
  readonly findings: readonly Finding[];
  /** Why the facts could not be read; those shown are older then. */
  readonly error: string | null;
  /** Dead letters of each partner account. */
  readonly deadLetters: Readonly<Record<string, number>>;
  /** When the latest event of each partner account was published, ISO 8601. */
  readonly lastEvents: Readonly<Record<string, string>>;
  readonly work: readonly Work[];
  /** The latest ten, newest first. */
  readonly actions: readonly Action[];
  /** What AWS denied the caller to do, such as `pause`. */
  readonly denied: readonly string[];
  /** Empty but in the demo. */
  readonly breaks: readonly Break[];
}

/** A backfill or an audit that is at work, or was interrupted. */
export interface Work {
  readonly kind: 'backfill' | 'audit';
  readonly partnerAccount: string;
  readonly state: 'running' | 'paused';
  readonly listed: number;
  readonly total: number | null;
}

/** Something that somebody did on the page. */
export interface Action {
  readonly id: number;
  readonly at: string;
  readonly who: string;
  /** The command that does the same. */
  readonly command: string;
  readonly state: 'running' | 'done' | 'left' | 'failed';
  /** What the command said last. */
  readonly says: string;
}

/** The last half hour, in steps of ten seconds; null where nothing is known. */
export interface Plots {
  /** Seconds since 1970. */
  readonly times: readonly number[];
  readonly series: Readonly<Record<PlotName, readonly (number | null)[]>>;
}
/** Seconds behind; events a minute; messages; requests a second. */
export type PlotName = 'Lag' | 'Events' | 'Waiting' | 'Requests';

/** A published event, as the page lists it. */
export interface ShownEvent {
  readonly time: string;
  readonly partnerAccount: string;
  readonly advertId: string;
  /** Null: unavailable, or none before. */
  readonly previous: string | null;
  readonly status: string | null;
  readonly cause: string;
  /** Set instead of statuses for an event about the partner account. */
  readonly about?: string;
}

/** The page's history of one advert. */
export interface ShownHistory {
  readonly answer: string;
  /** Newest first, those since the console began; the latest event is always there. */
  readonly events: readonly ShownEvent[];
}

/** Dead letters that match a filter: the first hundred in full, and the IDs of all. */
export interface ShownDeadLetters {
  readonly matching: number;
  readonly total: number;
  readonly deadLetters: readonly PrintedDeadLetter[];
  readonly ids: readonly string[];
}

/** What a page has received so far. */
export interface Received {
  readonly snapshot?: Snapshot;
  readonly plots?: Plots;
  /** Newest first. */
  readonly events: readonly ShownEvent[];
  /** The console, or the connection to it, is gone. */
  readonly isCutOff: boolean;
  /** Why the console refuses the page; it was started again, for example. */
  readonly refused?: string | undefined;
}
