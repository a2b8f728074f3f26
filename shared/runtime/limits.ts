/** The limits of the functions that are no settings. */

const minuteMs = 60_000;

/** The schedule's period: Lambda's schedules are no finer. */
export const scheduleMs = minuteMs;

/** For the polls that an operator asks for: they are answered before the command gives up (shared/aws/clients.ts). */
export const askedPollMs = 45_000;

export const drainLimits = {
  /** How long a crash stops polling at most; a page is read and queued in a fraction of it. */
  leaseMs: 90_000,
  /** SQS lets 20,000 messages of a FIFO queue be in flight, and looks for free groups among the first of a backlog. */
  maxWaiting: 10_000,
  /** As many as there are connections. Each waits for its slot of the rate budget beside what fan-out fetches. */
  feedsAtOnce: 10,
} as const;

export const fanOutLimits = {
  /** With the backoff between them, within two minutes. */
  advertTries: 5,
  maxAgeMs: 24 * 60 * minuteMs,
  /**
   * A fraction of the function's timeout, so that a hanging advert leaves time for settling its batch. As long as one
   * attempt may take: after one that hangs there is no second here, but a redelivery.
   */
  fetchMs: 10_000,
} as const;

export const refreshLimits = {
  /** Must exceed the function's timeout: nobody else may refresh while this one can still write. */
  lockMs: 2 * minuteMs,
} as const;

/** Connections kept open to the partner service: a batch is ten adverts, a drain reads ten feeds. */
export const partnerConnections = 10;
