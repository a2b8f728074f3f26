import type { Clock } from '../../shared/domain/clock.ts';

export interface ManualClock extends Clock {
  advance(ms: number): void;
}

/** Time that passes only when it is told to, or when somebody sleeps. */
export function createManualClock(startMs = Date.parse('2026-11-20T12:00:00.000Z')): ManualClock {
  let nowMs = startMs;
  return {
    now: () => nowMs,
    sleep: async (ms) => {
      nowMs += Math.max(0, ms);
    },
    advance: (ms) => {
      nowMs += ms;
    },
  };
}
