/** The books of one partner account's generation (design, I9). */
export interface Books {
  readonly listed: number;
  readonly events: number;
  readonly unchanged: number;
  readonly coalesced: number;
  readonly unavailable: number;
  readonly deadLettered: number;
  readonly inFlight: number;
  /** Outcomes counted more than once; always 0 where counting and settling are one transaction. */
  readonly redelivered?: number;
}

/** For `status`, and for the drain's view of a backlog. */
export interface BookKeeper {
  read(partnerAccount: string, generation: number): Promise<Books>;
  /** Of the whole queue; `waiting` includes what is in flight. */
  queue(): Promise<{ readonly waiting: number; readonly deadLetters: number }>;
}
