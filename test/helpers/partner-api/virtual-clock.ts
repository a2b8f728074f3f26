import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../../shared/domain/clock.ts';

export interface VirtualClock extends Clock {
  /**
   * Runs all tasks, and advances the time from the end of one sleep to the next, until no task sleeps or `untilMs` is
   * reached.
   */
  run(untilMs?: number): Promise<void>;
  advance(ms: number): void;
}

export const startMs = Date.parse('2026-11-20T12:00:00Z');

/** @param lateness by how much a sleeper wakes too late, in milliseconds: timers do, and event loops stall */
export function createVirtualClock(lateness: () => number = () => 0): VirtualClock {
  let nowMs = startMs;
  const sleepers = new Set<{ readonly at: number; readonly wake: () => void }>();

  async function settle(): Promise<void> {
    // Microtasks end within a turn; a second one catches what was started by the first.
    await nextTurn();
    await nextTurn();
  }

  return {
    now: () => nowMs,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const sleeper = {
          at: nowMs + Math.max(0, ms) + lateness(),
          wake: () => {
            sleepers.delete(sleeper);
            resolve();
          },
        };
        sleepers.add(sleeper);
        signal?.addEventListener('abort', sleeper.wake, { once: true });
      }),
    advance: (ms) => {
      nowMs += ms;
    },
    async run(untilMs = Number.POSITIVE_INFINITY) {
      for (;;) {
        await settle();
        const next = [...sleepers].sort((a, b) => a.at - b.at)[0];
        if (!next || next.at > untilMs) break;
        nowMs = Math.max(nowMs, next.at);
        next.wake();
      }
      if (Number.isFinite(untilMs)) nowMs = Math.max(nowMs, untilMs);
    },
  };
}
