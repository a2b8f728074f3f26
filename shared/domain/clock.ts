/** Time, passed in so that tests and the simulation control it. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Resolves after `ms`, or at once when `signal` is aborted (never rejects). */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Ms since 1970: no work begins after this moment. */
export interface Deadline {
  readonly deadlineMs: number;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const done = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, Math.max(0, ms));
      signal?.addEventListener('abort', done, { once: true });
    }),
};

/** Settles as `work` does; as `late` if that takes longer than `ms`. */
export async function withinTime<T>(
  work: Promise<T>,
  { clock, ms, late }: { readonly clock: Clock; readonly ms: number; readonly late: () => T },
): Promise<T> {
  const ended = new AbortController();
  const limit = clock.sleep(ms, ended.signal).then(() => true);
  // With a reason, because an abort without one creates an error with a stack trace.
  const isLate = await Promise.race([work.then(() => false), limit]).finally(() => ended.abort('ended'));
  return isLate ? late() : work;
}

/** Whether the time is at most so long ago. False for a future one: a clock was set back, so the age is unknown. */
export const isYoung = (atMs: number, nowMs: number, maxAgeMs: number): boolean =>
  atMs <= nowMs && nowMs - atMs <= maxAgeMs;

export const dayMs = 86_400_000;

/** The clocks of two processes differ by less than this. */
export const clockToleranceMs = 60_000;

/** Whether a wait has not ended yet. One that ends much later was written before a clock was set back, and does not count. */
export const isLasting = (untilMs: number, forMs: number, nowMs: number): boolean =>
  untilMs > nowMs && untilMs - nowMs <= forMs + clockToleranceMs;

/** Formats an instant as in events, messages and secrets: `2026-11-20T12:00:00.123Z`. */
export const toInstant = (ms: number): string => new Date(ms).toISOString();

/** The earlier of two instants, as it is written. */
export const earlierOf = (one: string, other: string): string =>
  Date.parse(one) < Date.parse(other) ? one : other;

/** A feed's stored `lastSuccess`; undefined if it lies in the future, because a clock was wrong or set back. */
export const knownSuccess = (lastSuccess: number | undefined, nowMs: number): number | undefined =>
  lastSuccess === undefined || lastSuccess > nowMs + clockToleranceMs
    ? undefined
    : Math.min(lastSuccess, nowMs);
