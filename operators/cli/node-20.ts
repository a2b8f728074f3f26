/**
 * Adds `URL.parse` and what ES2024 has, but Node 20 has not, for commands on a stack run there too; `lib` in tsconfig.json
 * allows nothing newer. Also keeps the AWS SDK from warning of Node 20. To be called: a bundle leaves out an import that only
 * has effects (`sideEffects` in package.json).
 */
export function prepareNode20(): void {
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
  // The bundle brings the SDK, so nobody can act on its warning of seven lines with each command: a release says in one
  // line which Node it needs.
  process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true';
  URL.parse ??= (text, base) => (URL.canParse(text, base) ? new URL(text, base) : null);
}
