interface Run {
  firstMs: number;
  left: number;
}

/**
 * Reserved slots that are not used yet, oldest first. They are stored as runs, because at high rates there are
 * thousands.
 */
export class ReservedSlots {
  readonly #intervalMs: number;
  readonly #runs: Run[] = [];
  #count = 0;

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  get count(): number {
    return this.#count;
  }

  /** The oldest slot. */
  get first(): number | undefined {
    return this.#runs[0]?.firstMs;
  }

  add(firstMs: number, granted: number): void {
    if (granted === 0) return;
    this.#runs.push({ firstMs, left: granted });
    this.#count += granted;
  }

  /** The slot after `place` others; undefined if there are fewer. */
  at(place: number): number | undefined {
    let before = place;
    for (const { firstMs, left } of this.#runs) {
      if (before < left) return firstMs + before * this.#intervalMs;
      before -= left;
    }
    return undefined;
  }

  /** Uses up the oldest slot. */
  take(): void {
    const run = this.#runs[0];
    if (run) this.#shorten(run, 1);
  }

  /** Discards the slots before `ms`. */
  dropBefore(ms: number): void {
    for (let run = this.#runs[0]; run && run.firstMs < ms; run = this.#runs[0]) {
      this.#shorten(run, Math.min(run.left, Math.ceil((ms - run.firstMs) / this.#intervalMs)));
    }
  }

  /** Drops all slots if the first one is after `ms`: the clock was set back after they were reserved. */
  dropBeyond(ms: number): void {
    if ((this.first ?? 0) <= ms) return;
    this.#runs.length = 0;
    this.#count = 0;
  }

  #shorten(run: Run, by: number): void {
    run.firstMs += by * this.#intervalMs;
    run.left -= by;
    this.#count -= by;
    if (run.left === 0) this.#runs.shift();
  }
}
