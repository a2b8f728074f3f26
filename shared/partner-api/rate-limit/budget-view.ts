import type { Clock } from '../../domain/clock.ts';
import type { BudgetState } from '../../domain/rate-budget.ts';

/** What this process knows of the shared budget: as of its last look at the store, and of what it found out itself. */
export interface BudgetView {
  /** Nobody sends before this; 0 when nothing was asked for. */
  pausedUntilMs: number;
  /** The address is blocked, or was and nobody got through since. */
  circuit: boolean;
  circuitSinceMs: number;
  suspect: string | undefined;
  suspectSinceMs: number;
  /** No slot before this is to be had any more. */
  nextSlotMs: number;
  /** When the store was last looked at. */
  seenAtMs: number;
  /**
   * A pause was found out here: it stands until the store, asked after it was told, says otherwise.
   *
   * @returns to be called with whether the store could be told; where it could not, the pause stands to its end
   */
  found(untilMs: number): (isTold: boolean) => void;
  /** End of the longest pause that the store could not be told of; 0 when it knows all that is known here. */
  untoldUntilMs(): number;
  /**
   * Takes over what the store said, also that a pause has been ended early.
   *
   * @param askedAtMs when it was asked; without it, it may not know yet what was found out here
   */
  saw(state: BudgetState, askedAtMs?: number): void;
}

export function createBudgetView(clock: Clock): BudgetView {
  const untold = new Set<{ readonly untilMs: number; hasFailed: boolean }>();
  let toldAtMs = 0;
  return {
    pausedUntilMs: 0,
    circuit: false,
    circuitSinceMs: 0,
    suspect: undefined,
    suspectSinceMs: 0,
    nextSlotMs: 0,
    seenAtMs: 0,
    found(untilMs) {
      this.pausedUntilMs = Math.max(this.pausedUntilMs, untilMs);
      const own = { untilMs, hasFailed: false };
      untold.add(own);
      return (isTold) => {
        own.hasFailed = !isTold;
        if (!isTold) return;
        // The store keeps the longest pause: with this one it knows the shorter ones, too.
        for (const earlier of [...untold]) if (earlier.untilMs <= untilMs) untold.delete(earlier);
        toldAtMs = clock.now();
      };
    },
    untoldUntilMs: () =>
      Math.max(0, ...[...untold].filter(({ hasFailed }) => hasFailed).map((own) => own.untilMs)),
    saw({ pausedUntilMs, pauseReason, suspect, nextSlotMs }, askedAtMs = 0) {
      const now = clock.now();
      const circuit = pauseReason === 'circuit';
      if (circuit && !this.circuit) this.circuitSinceMs = now;
      if (suspect !== this.suspect) this.suspectSinceMs = now;
      const ownMs = Math.max(0, ...[...untold].map(({ untilMs }) => untilMs));
      this.pausedUntilMs = Math.max(pausedUntilMs, askedAtMs > toldAtMs ? ownMs : this.pausedUntilMs);
      this.circuit = circuit;
      this.suspect = suspect;
      this.nextSlotMs = nextSlotMs;
      this.seenAtMs = now;
    },
  };
}
