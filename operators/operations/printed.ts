/**
 * What `status`, `dead-letters`, `history`, `resume`, `resync` and `connect --new-history` print with --json. Times are
 * ISO 8601 in UTC; a field changes by addition only. `doctor` has doctor/check.ts,
 * its findings shared/findings/finding.ts.
 */
import type { AdvertEvent } from '../../shared/contract/events.ts';
import type { DeadLetter } from '../../shared/contract/messages.ts';
import type { AlarmName } from '../../shared/findings/finding.ts';
import type { Books } from '../../shared/state/books.ts';

/** An operator's pause. */
export interface PrintedPause {
  readonly who: string;
  readonly since: string;
  /** Null: until `resume`. */
  readonly until: string | null;
  readonly reason: string | null;
}

/** A hold that the service's answers made: in force, or over while no request has succeeded since. */
export interface PrintedHold {
  readonly kind: string;
  readonly since: string;
  readonly until: string | null;
  readonly fault: string;
}

/** Adverts that fail, each by itself, of which one waits the longest. */
export interface FailingAdverts {
  readonly count: number;
  /** Whether there may be more. */
  readonly isMore: boolean;
  readonly advertId: string;
  /** The kind of its fault. */
  readonly fault: string;
  /** About when it began to fail. */
  readonly since: string;
}

export interface AccountStatus {
  readonly name: string;
  readonly generation: number;
  readonly state: 'polling' | 'paused' | 'stopped';
  /** Why it is paused or stopped, or what went wrong with the last poll; null if there is no problem. */
  readonly reason: string | null;
  readonly paused: PrintedPause | null;
  readonly hold: PrintedHold | null;
  /** When what failed is tried again at the earliest; null without a known time. */
  readonly nextTrial: string | null;
  /** Since the feed was last read to its end, or since `connect`; null without a feed. */
  readonly lagSeconds: number | null;
  readonly lastSuccess: string | null;
  readonly tokenExpiresAt: string | null;
  /** When the refresh token expires unless it is used earlier; each use adds a month. */
  readonly refreshTokenExpiresAt: string | null;
  /** A person has to act for a reason other than dead letters. */
  readonly needsPerson: boolean;
  /**
   * What a person has to handle, the most urgent first, each a finding (findings.ts): a stop's reason, a kind of fault,
   * or a word of its own. A new one is not a breaking change.
   */
  readonly attention: readonly string[];
  readonly cursorResets: number;
  readonly lastCursorReset: string | null;
  readonly books: Omit<Books, 'redelivered'>;
  /** Null if none has failed for two minutes. */
  readonly failing: FailingAdverts | null;
  /** Number of repeated deliveries; only for a stack, which counts outcomes per delivery. */
  readonly redelivered: Books['redelivered'];
}

interface Backlog {
  readonly waiting: number;
  /** Number of events that were never sent, because they were too old, or too many waited. */
  readonly givenUp: number;
  /** How many may wait; null before the first run with this version. */
  readonly maxEvents: number | null;
}

export interface WebhookStatus extends Backlog {
  readonly address: string;
  /** `gone`: it answered 410, and gets nothing more in this run. */
  readonly state: 'delivering' | 'failing' | 'gone';
  readonly oldestSeconds: number | null;
  readonly failingSince: string | null;
  /** Why the last attempt failed, in words; null if it succeeded. */
  readonly lastAnswer: string | null;
}

interface Answered {
  /** By kind: `ok`, `5xx`, `none` (no answer), or the kind of the fault. */
  readonly counts: Readonly<Record<string, number>>;
  readonly meanMs: number | null;
}

/** What the service answered in the last quarter of an hour. */
export interface Answers extends Answered {
  /** The part of the rate that requests used, and in the busiest minute: 0 to 1. */
  readonly rateUsed: number;
  readonly rateUsedAtMost: number;
  readonly maxRequestsPerSecond: number;
  /** The last half hour, oldest first; a minute without requests is left out. */
  readonly minutes: readonly (Answered & { readonly at: string })[];
}

/** A code of problems.json, with the facts for its sentence; `status --json` adds the sentence and what mends it. */
export interface ResourceFault {
  readonly of: 'schedule' | 'mapping' | 'table' | 'function';
  readonly code: string;
  readonly facts: Readonly<Record<string, string>>;
}

export interface RaisedAlarm {
  /** Without the bridge's name. */
  readonly name: AlarmName;
  /** The description of the alarm, including the section in the runbook. */
  readonly says: string;
  readonly since: string | null;
}

interface Named {
  readonly name: string;
  readonly state: string;
}

/** What AWS runs for a stack. */
interface OfStack {
  readonly schedule: string;
  readonly mapping: string;
  /** What is wrong with the two above, with the tables and with the functions. */
  readonly resourceFaults: readonly ResourceFault[];
  /** Names of secrets that wait for their deletion, those of disconnected accounts included. */
  readonly secretsToBeDeleted: readonly string[];
  /** Those in state ALARM; null if they cannot be read. */
  readonly alarms: readonly RaisedAlarm[] | null;
  /** By which teams get the events of the classic bus; null if they cannot be read. */
  readonly rules: readonly Named[] | null;
  /** On the Custom Event Bus; null if they cannot be read, and if the bridge has no such bus. */
  readonly subscribers: readonly Named[] | null;
  /** What AWS did not show. */
  readonly unseen: readonly string[];
}

export interface IdleRun {
  readonly endedAt: string;
  /** The longest time between the ends of the latest of these runs; null for the first. */
  readonly everySeconds: number | null;
}

/** Only a stack has the state of AWS resources. */
export interface Status extends Partial<OfStack> {
  readonly partnerAccounts: readonly AccountStatus[];
  readonly queue: { readonly waiting: number; readonly deadLetters: number };
  /** In the queue or aside; null when none waits, or this is unknown. */
  readonly oldestWaitingSeconds: number | null;
  readonly lastDrain: string | null;
  /** How far ahead the slots of the rate budget are reserved: a new request waits this long. */
  readonly budget: { readonly reservedSeconds: number };
  /** Null before the first request. */
  readonly answers: Answers | null;
  /** The whole bridge sends nothing until then: the service asked for it, or the circuit is open. */
  readonly pausedUntil: string | null;
  readonly pauseReason: 'circuit' | 'rate-limited' | null;
  /** The service seems to block this address: after the pause, single trial requests are sent. */
  readonly circuit: boolean;
  /** Null after a success. */
  readonly hold: PrintedHold | null;
  readonly paused: PrintedPause | null;
  /** Stored rows that cannot be read, each with the reason; what they describe is not polled. */
  readonly unreadable: readonly string[];
  /** The same, each with the row: `account/NAME`, `feed/NAME/FEED`. */
  readonly unreadableRows: readonly { readonly row: string; readonly issue: string }[];
  // All that follows is of an embedded bridge alone.
  /** Whether a process runs it. */
  readonly isRunning: boolean | undefined;
  /** The latest run, if it ended by itself (`--until-idle`); otherwise null. */
  readonly idleRun: IdleRun | null;
  /** The run whose process does not come to its work, and since when; null if it does. */
  readonly standstill: { readonly run: string; readonly since: string } | null;
  /** No room is on the disk of the state; null if there is. */
  readonly fullDisk: { readonly since: string | null } | null;
  /** Accounts that this older copy of the state would publish with used numbers. */
  readonly reusedHistories: readonly string[] | undefined;
  readonly webhooks: readonly WebhookStatus[] | undefined;
  /** Why standard output takes no events of a run; null if it does. */
  readonly output: { readonly failingSince: string; readonly reason: string } | null;
  /** What waits for standard output; null if no run writes to it. */
  readonly outputEvents: Backlog | null;
}

/** As CloudWatch, too, tells how old the oldest message is. */
export interface StackState extends OfStack {
  /** SQS's last measurement of the last ten minutes; null if there is none. */
  readonly oldestMessageSeconds: number | null;
}

export interface PrintedDeadLetter extends DeadLetter {
  /** `<partner account>/<hash>`. */
  readonly id: string;
}

/** Dead letters of one partner account with one fault and reason. */
export interface DeadLetterGroup extends Pick<DeadLetter, 'partnerAccount' | 'fault' | 'reason'> {
  readonly count: number;
  readonly adverts: number;
  readonly from: string;
  readonly to: string;
}

export interface AdvertHistory {
  readonly partnerAccount: string;
  readonly advertId: string;
  /** The complete latest event as recorded; null when there is none. */
  readonly latest: AdvertEvent | null;
  /** Whether the bus has accepted it; null when this is uncertain, and when there is no event. */
  readonly latestPublished: boolean | null;
  /** Every published event that is kept, complete; of a stack none. */
  readonly events: readonly AdvertEvent[];
  /** Messages that have no outcome yet; `until` is null if a message is not delayed. */
  readonly waiting: readonly (Readonly<
    Record<'place' | 'key' | 'listedAt' | 'cause' | 'correlationId', string>
  > & {
    readonly receives: number;
    readonly until: string | null;
  })[];
  readonly deadLetters: readonly PrintedDeadLetter[];
  readonly facts: readonly { readonly at: string; readonly says: string }[];
  readonly outcome: string;
  readonly answer: string;
}

export interface Resumed {
  /** The operator's pause that ended; null if there was none. */
  readonly ended: PrintedPause | null;
  /** Until when the service had asked the whole bridge to wait; null: not ended, or there was no pause. */
  readonly servicePauseUntil: string | null;
  /** Kinds of the account's own holds that `--early` ended, which the service's answers had made. */
  readonly accountHoldsEnded: readonly string[];
  readonly circuitEnded: boolean;
  /** A pause of the whole bridge that is still in force, although the partner account's has ended. */
  readonly stillPaused: PrintedPause | null;
  /** Until when it still waits for another reason, which only `--early` ends; null if it does not. */
  readonly stillHeldUntil: string | null;
}

export interface Resynced {
  /** Where reading began. */
  readonly since: string;
  readonly listed: number;
  /** Whether reading came to the feed's end; if not, the bridge goes on. */
  readonly finished: boolean;
}

export interface NewHistory {
  readonly partnerAccount: string;
  readonly generation: number;
  readonly since: string;
}
