/** Time limits of functions, locks and messages: shorter than in production, because most runs last a few minutes. */
export const shortLimits = {
  drainMs: 25_000,
  nextRunMs: 22_000,
  leaseMs: 30_000,
  workerMs: 12_000,
  /** Longer than a batch takes. During the chaos, a plan may choose a shorter one. */
  visibilityMs: 20_000,
  fetchMs: 5_000,
  /** One attempt of a request. */
  attemptMs: 3_000,
  refreshMs: 20_000,
  lockMs: 30_000,
  resyncMs: 60_000,
  /** Messages of one feed in the queue. */
  maxWaiting: 1_000,
};
export type Limits = typeof shortLimits;

/** As a stack has them (infra/constructs, functions/runtime/limits.ts), for runs in which delays are measured. */
export const stackLimits: Limits = {
  drainMs: 85_000,
  nextRunMs: 60_000,
  leaseMs: 90_000,
  workerMs: 55_000,
  visibilityMs: 600_000,
  fetchMs: 10_000,
  attemptMs: 10_000,
  refreshMs: 60_000,
  lockMs: 120_000,
  resyncMs: 60_000,
  maxWaiting: 10_000,
};
