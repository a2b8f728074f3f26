/**
 * Virtual time. Everything that happens is an event at a time; between two events only microtasks run, so the same
 * seed gives the same run. Events at the same time occur in random order.
 */
import TinyQueue from 'tinyqueue';
import { type Random, streamOf } from './random.ts';

export interface Scheduled {
  cancelled: boolean;
}

export interface Scheduler {
  /** Virtual time, milliseconds since 1970. */
  now(): number;
  /** Increases with every event, to order what happens within one millisecond. */
  tick(): number;
  after(ms: number, event: () => void): Scheduled;
  /** Runs events until `isOver` returns true (called before each event) or none is left. */
  run(isOver: () => boolean): Promise<void>;
}

interface Entry extends Scheduled {
  readonly rank: number;
  readonly event: () => void;
}

/** The start of virtual time. */
export const epochMs = Date.parse('2026-11-20T12:00:00.000Z');
/** More than any run needs: a run that never ends is a fault too. */
const maxEvents = 400_000;

export function createScheduler(seed: number): Scheduler {
  const random: Random = streamOf(seed);
  const heap = new TinyQueue<Entry>([], (a, b) => a.rank - b.rank);
  let nowMs = epochMs;
  let ticks = 0;

  return {
    now: () => nowMs,
    tick: () => ticks,
    after(ms, event) {
      const entry = { rank: Math.ceil(nowMs + Math.max(0, ms)) + random(), event, cancelled: false };
      heap.push(entry);
      return entry;
    },
    async run(isOver) {
      while (!isOver()) {
        const entry = heap.pop();
        if (!entry) return;
        if (entry.cancelled) continue;
        nowMs = Math.max(nowMs, Math.floor(entry.rank));
        ticks += 1;
        if (ticks > maxEvents) throw new Error(`still going on after ${maxEvents} events`);
        entry.event();
        await microtasksDone();
      }
    },
  };
}

/**
 * Everything that an event triggered has run by then, and no virtual time has passed: Node runs a tick that a microtask
 * queued when no microtask is left. A turn of the event loop (`setImmediate`) would take twice as long.
 */
const microtasksDone = () => new Promise<void>((resolve) => process.nextTick(resolve));
