/** Time limits of functions, locks and messages. */
export interface Limits {
  readonly drainMs: number;
  readonly nextRunMs: number;
  readonly leaseMs: number;
  readonly workerMs: number;
  /** Longer than a batch takes. During the chaos, a plan may choose a shorter one. */
  readonly visibilityMs: number;
  readonly fetchMs: number;
  /** One attempt of a request. */
  readonly attemptMs: number;
  readonly refreshMs: number;
  readonly lockMs: number;
  /** Which differences of clocks fan-out allows for; at least those of the plan. */
  readonly clockSkewMs: number;
  readonly resyncMs: number;
  /** Messages of one feed in the queue. */
  readonly maxWaiting: number;
}

/** Shorter than in production, because most runs last a few minutes. */
export const shortLimits: Limits = {
  drainMs: 25_000,
  nextRunMs: 22_000,
  leaseMs: 30_000,
  workerMs: 12_000,
  visibilityMs: 20_000,
  fetchMs: 5_000,
  attemptMs: 3_000,
  refreshMs: 20_000,
  lockMs: 30_000,
  clockSkewMs: 0,
  resyncMs: 60_000,
  maxWaiting: 1_000,
};

/** As a stack has them (infra/constructs, shared/runtime/limits.ts), for runs in which delays are measured. */
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
  clockSkewMs: 1_000,
  resyncMs: 60_000,
  maxWaiting: 10_000,
};
