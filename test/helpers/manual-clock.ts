import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../shared/domain/clock.ts';

export interface ManualClock extends Clock {
  /** How long each sleep was. */
  readonly slept: readonly number[];
  advance(ms: number): void;
}

/** A clock that advances only during sleeps, or when the test advances it. */
export function createManualClock(startMs = Date.parse('2026-11-20T12:00:00.000Z')): ManualClock {
  let nowMs = startMs;
  const slept: number[] = [];
  return {
    slept,
    now: () => nowMs,
    async sleep(ms, signal) {
      // An abort that is already scheduled wins: then no time passes.
      if (signal) await nextTurn();
      if (signal?.aborted) return;
      slept.push(ms);
      nowMs += Math.max(0, ms);
    },
    advance: (ms) => {
      nowMs += ms;
    },
  };
}
