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
