/** The books of a generation for which nothing was listed yet. */
export const emptyBooks: Books = {
  listed: 0,
  events: 0,
  unchanged: 0,
  coalesced: 0,
  unavailable: 0,
  deadLettered: 0,
  inFlight: 0,
};

/** The books of one feed of a partner account's generation. */
export interface Books {
  readonly listed: number;
  readonly events: number;
  readonly unchanged: number;
  readonly coalesced: number;
  readonly unavailable: number;
  readonly deadLettered: number;
  readonly inFlight: number;
  /** Outcomes that were counted more than once; always 0 if counting and settling are one transaction. */
  readonly redelivered?: number;
}
