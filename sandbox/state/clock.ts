/** A source of time: milliseconds since 1970. */
export interface Clock {
  now(): number;
}

/** The service's own clock: that of its base, with an offset. */
export function createSandboxClock(base: Clock) {
  let offsetMs = 0;
  /** Jumps to a time (milliseconds since 1970), and runs on from there. */
  const set = (atMs: number): void => {
    // Beyond this limit a Date is invalid, and every answer contains one.
    if (!Number.isFinite(atMs) || Math.abs(atMs) > 8.64e15) throw new RangeError('not a moment in time');
    offsetMs = atMs - base.now();
  };
  return {
    now: (): number => Math.floor(base.now() + offsetMs),
    set,
    advance: (byMs: number): void => set(base.now() + offsetMs + byMs),
  };
}
