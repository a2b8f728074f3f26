/**
 * Calls `work` for every item, in order, at most `limit` at a time. Items that are appended to the list in the meantime
 * are included. A rejection does not stop the others; the first one is thrown when all have ended.
 */
export async function forEachConcurrent<T>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  let begun = 0;
  const failures: unknown[] = [];
  const worker = async () => {
    while (begun < items.length) {
      const item = items[begun] as T;
      begun += 1;
      await work(item).catch((error: unknown) => failures.push(error));
    }
  };
  await Promise.all(Array.from({ length: limit }, worker));
  if (failures.length > 0) throw failures[0];
}
