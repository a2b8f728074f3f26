/** What a plan (draw-plan.ts) consists of: when something happens, and what is broken. */

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
 * their receives: the service asks to wait for a second; accounts cannot be read, or only as they were before somebody
 * connected them again; or an advert kills the worker that fetches it.
 */
export type Siege = 'waits-1' | 'accounts-restored' | 'accounts-unreadable' | 'killer-advert';

/** Something is broken from a given time on, for a given duration. */
export interface Trouble {
  readonly key: string;
  readonly kind: 'outage' | 'block' | 'bus-down' | Siege;
  readonly account: string;
  readonly fromMs: number;
  readonly untilMs: number;
}
