/**
 * Adds `URL.parse` and what ES2024 has, but Node 20 has not, for commands on a stack run there too; `lib` in tsconfig.json
 * allows nothing newer. To be called: a bundle leaves out an import that only has effects (`sideEffects` in package.json).
 */
export function addEs2024(): void {
  Map.groupBy ??= <K, T>(items: Iterable<T>, keyOf: (item: T, index: number) => K) => {
    const groups = new Map<K, T[]>();
    for (const [index, item] of [...items].entries()) {
      const key = keyOf(item, index);
      const group = groups.get(key) ?? [];
      groups.set(key, group);
      group.push(item);
    }
    return groups;
  };
  Object.groupBy ??= <K extends PropertyKey, T>(items: Iterable<T>, keyOf: (item: T, index: number) => K) =>
    Object.fromEntries(Map.groupBy(items, keyOf)) as Partial<Record<K, T[]>>;
  Promise.withResolvers ??= <T>() => {
    const made = {} as PromiseWithResolvers<T>;
    made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
    return made;
  };
  URL.parse ??= (text, base) => (URL.canParse(text, base) ? new URL(text, base) : null);
}
