import type { Clock } from '../domain/clock.ts';
import type { BudgetState } from './ports.ts';

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
  /** Takes over what the store said. A pause that was found out here stands, though the store may not know it yet. */
  saw(state: BudgetState): void;
}

export function createBudgetView(clock: Clock): BudgetView {
  return {
    pausedUntilMs: 0,
    circuit: false,
    circuitSinceMs: 0,
    suspect: undefined,
    suspectSinceMs: 0,
    nextSlotMs: 0,
    seenAtMs: 0,
    saw({ pausedUntilMs, pauseReason, suspect, nextSlotMs }) {
      const now = clock.now();
      const circuit = pauseReason === 'circuit';
      if (circuit && !this.circuit) this.circuitSinceMs = now;
      if (suspect !== this.suspect) this.suspectSinceMs = now;
      this.pausedUntilMs = Math.max(this.pausedUntilMs, pausedUntilMs);
      this.circuit = circuit;
      this.suspect = suspect;
      this.nextSlotMs = nextSlotMs;
      this.seenAtMs = now;
    },
  };
}
