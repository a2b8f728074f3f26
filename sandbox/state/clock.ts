/** A source of time: milliseconds since 1970. */
export interface Clock {
  now(): number;
}

/** The service's own clock: that of its base, with an offset. */
export class SandboxClock implements Clock {
  readonly #base: Clock;
  #offsetMs = 0;

  constructor(base: Clock) {
    this.#base = base;
  }

  now(): number {
    return Math.floor(this.#base.now() + this.#offsetMs);
  }

  /** Jumps to a time (milliseconds since 1970), and runs on from there. */
  set(atMs: number): void {
    // Beyond this limit a Date is invalid, and every answer contains one.
    if (!Number.isFinite(atMs) || Math.abs(atMs) > 8.64e15) throw new RangeError('not a moment in time');
    this.#offsetMs = atMs - this.#base.now();
  }

  advance(byMs: number): void {
    this.set(this.#base.now() + this.#offsetMs + byMs);
  }
}
