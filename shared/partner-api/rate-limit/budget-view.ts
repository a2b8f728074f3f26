import { type Clock, isYoung } from '../../domain/clock.ts';
import type { OperatorPause } from '../../domain/operator-pause.ts';
import type { BudgetState } from '../../domain/rate-budget.ts';

interface OwnPause {
  readonly untilMs: number;
  hasFailed: boolean;
}

/**
 * Maximum time until this process learns of a pause that another function has met, even while it has reserved slots. If
 * requests wait longer than this for their slots, it costs a read of the store.
 */
const viewMaxAgeMs = 1_000;

/** This process's knowledge of the shared budget: from its last read of the store, and from its own answers. */
export class BudgetView {
  /** No request is sent before this moment; 0 without a pause. */
  pausedUntilMs = 0;
  /** The circuit breaker is open, or no trial has succeeded yet. */
  circuit = false;
  circuitSinceMs = 0;
  suspect: string | undefined;
  operatorPause: OperatorPause | undefined;
  suspectSinceMs = 0;
  /** All slots before this moment are taken. */
  nextSlotMs = 0;
  /** When the store was last read. */
  seenAtMs = 0;
  readonly #clock: Clock;
  /** Pauses that this process has met and that the store may not contain yet. */
  readonly #untold = new Set<OwnPause>();
  #toldAtMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the last read of the store is recent enough. */
  isFresh(now: number): boolean {
    return isYoung(this.seenAtMs, now, viewMaxAgeMs);
  }

  /**
   * Records a pause that this process has met. It stays in force until a read of the store, made after the pause was
   * stored, shows otherwise.
   *
   * @returns a function to call with the result of storing the pause; if storing failed, the pause stays in force until
   * its end
   */
  noteOwnPause(untilMs: number): (isTold: boolean) => void {
    this.pausedUntilMs = Math.max(this.pausedUntilMs, untilMs);
    const own = { untilMs, hasFailed: false };
    this.#untold.add(own);
    return (isTold) => {
      own.hasFailed = !isTold;
      if (!isTold) return;
      // The store keeps the longest pause, which covers all shorter ones.
      for (const earlier of [...this.#untold]) if (earlier.untilMs <= untilMs) this.#untold.delete(earlier);
      this.#toldAtMs = this.#clock.now();
    };
  }

  /** End of the longest pause that could not be stored; 0 if the store knows all pauses. */
  untoldUntilMs(): number {
    return latestOf([...this.#untold].filter(({ hasFailed }) => hasFailed));
  }

  /**
   * Takes over the store's state, including an early end of a pause.
   *
   * @param askedAtMs when the read began. Default: the state may not contain this process's own pauses yet
   */
  update(state: BudgetState, askedAtMs = 0): void {
    const { pausedUntilMs, pauseReason, suspect, nextSlotMs, operatorPause } = state;
    const now = this.#clock.now();
    const circuit = pauseReason === 'circuit';
    if (circuit && !this.circuit) this.circuitSinceMs = now;
    if (suspect !== this.suspect) this.suspectSinceMs = now;
    const ownMs = askedAtMs > this.#toldAtMs ? latestOf([...this.#untold]) : this.pausedUntilMs;
    this.pausedUntilMs = Math.max(pausedUntilMs, ownMs);
    this.circuit = circuit;
    this.suspect = suspect;
    // Planted fault: pause-unseen-by-warm-process
    this.operatorPause = operatorPause;
    this.nextSlotMs = nextSlotMs;
    this.seenAtMs = now;
  }
}

const latestOf = (pauses: readonly OwnPause[]): number =>
  Math.max(0, ...pauses.map(({ untilMs }) => untilMs));
