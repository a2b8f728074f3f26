/**
 * Adds what ES2024 has and Node 20 has not, for commands on a stack run there too; `lib` in tsconfig.json allows nothing
 * newer. To be called: a bundle leaves out an import that only has effects (`sideEffects` in package.json).
 */
export function addEs2024(): void {
  Map.groupBy ??= <K, T>(items: Iterable<T>, keyOf: (item: T, index: number) => K): Map<K, T[]> => {
    const groups = new Map<K, T[]>();
    let index = 0;
    for (const item of items) {
      const key = keyOf(item, index++);
      const group = groups.get(key);
      if (group) group.push(item);
      else groups.set(key, [item]);
    }
    return groups;
  };
  Object.groupBy ??= <K extends PropertyKey, T>(items: Iterable<T>, keyOf: (item: T, index: number) => K) =>
    Object.fromEntries(Map.groupBy(items, keyOf)) as Partial<Record<K, T[]>>;
  Promise.withResolvers ??= <T>() => {
    let resolve!: (value: T | PromiseLike<T>) => void;
    let reject!: (reason?: unknown) => void;
    const promise = new Promise<T>((resolved, rejected) => {
      [resolve, reject] = [resolved, rejected];
    });
    return { promise, resolve, reject };
  };
}
