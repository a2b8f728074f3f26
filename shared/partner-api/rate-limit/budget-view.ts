import type { Clock } from '../../domain/clock.ts';
import type { OperatorPause } from '../../domain/operator-pause.ts';
import type { BudgetState } from '../../domain/rate-budget.ts';

interface OwnPause {
  readonly untilMs: number;
  hasFailed: boolean;
}

/**
 * A pause that another function found out is known here after this, even while there are reserved slots: costs a read of
 * the store where requests wait longer for their slots.
 */
const viewMaxAgeMs = 1_000;

/** What this process knows of the shared budget: from its last look at the store, and from the answers it had itself. */
export class BudgetView {
  /** Nobody sends before this; 0 when nothing was asked for. */
  pausedUntilMs = 0;
  /** The circuit breaker is open, or no trial has succeeded since. */
  circuit = false;
  circuitSinceMs = 0;
  suspect: string | undefined;
  operatorPause: OperatorPause | undefined;
  suspectSinceMs = 0;
  /** No slot before this is free any more. */
  nextSlotMs = 0;
  /** When the store was last looked at. */
  seenAtMs = 0;
  readonly #clock: Clock;
  /** Pauses that this process found out, and the store may not know of. */
  readonly #untold = new Set<OwnPause>();
  #toldAtMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Whether the store was looked at lately enough to go by. */
  isFresh(now: number): boolean {
    return now - this.seenAtMs <= viewMaxAgeMs;
  }

  /**
   * Notes a pause that this process found out: it holds until the store, asked after it was told, says otherwise.
   *
   * @returns to be called with whether the store could be told; where it could not, the pause holds to its end
   */
  noteOwnPause(untilMs: number): (isTold: boolean) => void {
    this.pausedUntilMs = Math.max(this.pausedUntilMs, untilMs);
    const own = { untilMs, hasFailed: false };
    this.#untold.add(own);
    return (isTold) => {
      own.hasFailed = !isTold;
      if (!isTold) return;
      // The store keeps the longest pause, so it knows shorter ones with this one.
      for (const earlier of [...this.#untold]) if (earlier.untilMs <= untilMs) this.#untold.delete(earlier);
      this.#toldAtMs = this.#clock.now();
    };
  }

  /** End of the longest pause that the store could not be told of; 0 when it knows all that is known here. */
  untoldUntilMs(): number {
    return latestOf([...this.#untold].filter(({ hasFailed }) => hasFailed));
  }

  /**
   * Takes over the store's state, also that a pause has been ended early.
   *
   * @param askedAtMs when the store was asked. Default: it may not know yet what this process found out
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
