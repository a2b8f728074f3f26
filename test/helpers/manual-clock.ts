import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../shared/domain/clock.ts';

export interface ManualClock extends Clock {
  advance(ms: number): void;
}

/** A clock that advances only during sleeps, or when the test advances it. */
export function createManualClock(startMs = Date.parse('2026-11-20T12:00:00.000Z')): ManualClock {
  let nowMs = startMs;
  return {
    now: () => nowMs,
    async sleep(ms, signal) {
      // Who may end it early is asked first: what time was limited for ends without any passing.
      if (signal) await nextTurn();
      if (signal?.aborted) return;
      nowMs += Math.max(0, ms);
    },
    advance: (ms) => {
      nowMs += ms;
    },
  };
}
