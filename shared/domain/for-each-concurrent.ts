/** Returns a function that does the work it is given, at most `limit` at a time, in the order of the calls. */
export function limitedTo(limit: number) {
  const waiting: (() => void)[] = [];
  let free = limit;
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
}

/**
 * Calls `work` for every item, in order, at most `limit` at a time. A rejection does not stop the others; the first one
 * is thrown when all have ended.
 */
export async function forEachConcurrent<T>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const limited = limitedTo(limit);
  const results = await Promise.allSettled(items.map((item) => limited(() => work(item))));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
