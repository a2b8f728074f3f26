/** Limits of the functions that are not settings. */

/** Period of the schedule, the shortest that the scheduler supports. */
export const scheduleMs = 60_000;

/** Time limit of an operator's `poll`, so that it is answered before the command gives up (shared/aws/clients.ts). */
export const askedPollMs = 45_000;

export const drainLimits = {
  /** Messages of one account: the rest waits in its feed, because behind more than these its changes would be hours late. */
  maxWaiting: 10_000,
  /** Messages of all accounts together: older quotas of SQS allow 20,000 messages in flight in a FIFO queue. */
  wholeFrom: 15_000,
} as const;

export const fanOutLimits = {
  /** These tries and the waits between them take less than four minutes. */
  advertTries: 5,
  /** Leaves time to settle the batch of a hanging advert. An attempt that hangs takes all of it; a quick 5xx is repeated within it. */
  fetchMs: 10_000,
} as const;

/** Number of open connections to the partner service: a batch has ten adverts, and a drain reads ten feeds. */
export const partnerConnections = 10;

/** The counts of answers are stored this often: a write for each batch would double what the books cost. */
export const storeAnswersMs = 10_000;
