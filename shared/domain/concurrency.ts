import type { Clock } from './clock.ts';

/** Returns a function that does the work it is given, at most `limit` at a time, in the order of the calls. */
export function limitedTo(limit: number) {
  const waiting = new Set<() => void>();
  let free = limit;

  /** @param patience of real time: work that has not begun by then is not done, and rejects with `late` */
  return async <T>(
    work: () => Promise<T>,
    patience?: { readonly maxMs: number; readonly late: () => Error },
  ): Promise<T> => {
    if (free > 0) free -= 1;
    else {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      waiting.add(resolve);
      const giveUp = () => waiting.delete(resolve) && reject(patience?.late());
      const timer = patience && setTimeout(giveUp, patience.maxMs);
      await promise.finally(() => clearTimeout(timer));
    }
    try {
      return await work();
    } finally {
      const [next] = waiting;
      if (next) waiting.delete(next);
      else free += 1;
      next?.();
    }
  };
}

/** Calls `work` for each item, in order. A rejection stops no other; the first is thrown when all have ended. */
export async function forEachConcurrent<T>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const limited = limitedTo(limit);
  const results = await Promise.allSettled(items.map((item) => limited(() => work(item))));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

/**
 * How long to wait after an attempt (the first is 1): exponential with full jitter, by `random` in [0, 1).
 *
 * @see https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
 */
export function backoffMs(
  attempt: number,
  options: { readonly baseMs: number; readonly capMs: number; readonly random: () => number },
): number {
  const { baseMs, capMs, random } = options;
  return Math.ceil(random() * Math.min(capMs, baseMs * 2 ** Math.min(30, attempt - 1)));
}

export type Loop = ReturnType<typeof startLoop>;

/**
 * Takes turns: each begins when the wait that the previous one returned is over, or when the loop is woken.
 *
 * @param turn returns how long to wait, in ms; undefined ends the loop, which a turn must do once `stopping` is aborted
 */
export function startLoop(clock: Clock, turn: (stopping: AbortSignal) => Promise<number | undefined>) {
  const stopping = new AbortController();
  let wakeUp = new AbortController();
  // With a reason, because an abort without one creates an error with a stack trace each time.
  const wake = () => wakeUp.abort('woken');

  async function run(): Promise<void> {
    for (;;) {
      wakeUp = new AbortController();
      const waitMs = await turn(stopping.signal);
      if (waitMs === undefined) return;
      if (waitMs > 0) await clock.sleep(waitMs, wakeUp.signal);
    }
  }

  const running = run();
  return {
    /** Begins the next turn at once. */
    wake,
    /** Resolves when the loop has ended. */
    stop: (): Promise<void> => {
      stopping.abort();
      wake();
      return running;
    },
  };
}
