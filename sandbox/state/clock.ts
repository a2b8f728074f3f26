/** A source of time: milliseconds since 1970. */
export interface Clock {
  now(): number;
}

/** The service's own clock: real time with an offset, or frozen. */
export interface SandboxClock extends Clock {
  readonly frozen: boolean;
  /** Jumps to a time (milliseconds since 1970); a running clock keeps running. */
  set(atMs: number): void;
  /** Advances by some milliseconds; a running clock keeps running. */
  advance(byMs: number): void;
  /** Stops at the current time. */
  freeze(): void;
  /** Runs with real time, starting at the current time. */
  run(): void;
}

/** @param base source of time while the clock runs; default: the system clock */
export function createSandboxClock(base: Clock = { now: () => Date.now() }): SandboxClock {
  let offsetMs = 0;
  let frozenAtMs: number | undefined;
  const now = (): number => Math.floor(frozenAtMs ?? base.now() + offsetMs);
  const set = (atMs: number): void => {
    // Beyond this limit a Date is invalid, and every answer contains one.
    if (!Number.isFinite(atMs) || Math.abs(atMs) > 8.64e15) throw new RangeError('not a moment in time');
    if (frozenAtMs === undefined) offsetMs = atMs - base.now();
    else frozenAtMs = atMs;
  };
  return {
    now,
    get frozen() {
      return frozenAtMs !== undefined;
    },
    set,
    advance: (byMs) => set((frozenAtMs ?? base.now() + offsetMs) + byMs),
    freeze: () => {
      frozenAtMs = now();
    },
    run: () => {
      if (frozenAtMs === undefined) return;
      offsetMs = frozenAtMs - base.now();
      frozenAtMs = undefined;
    },
  };
}
