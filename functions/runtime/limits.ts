/** Limits of the functions that are not settings. */

/** Period of the schedule, the shortest that the scheduler supports. */
export const scheduleMs = 60_000;

/** Time limit of an operator's `poll`, so that it is answered before the command gives up (shared/aws/clients.ts). */
export const askedPollMs = 45_000;

export const drainLimits = {
  /** Of one account. A feed is the better buffer, and behind more than this, its changes would be hours late. */
  maxWaiting: 10_000,
  /** Of all accounts together: SQS allows 20,000 in-flight messages in a FIFO queue of older quotas. */
  wholeFrom: 15_000,
} as const;

export const fanOutLimits = {
  /** With their waits, these tries take less than four minutes. */
  advertTries: 5,
  /** Leaves time to settle the batch of a hanging advert. An attempt that hangs takes all of it; a quick 5xx is repeated within it. */
  fetchMs: 10_000,
} as const;

/** Number of open connections to the partner service: a batch has ten adverts, and a drain reads ten feeds. */
export const partnerConnections = 10;

/** With a batch a second, a write for each would double what its books cost. */
export const storeAnswersMs = 10_000;
