export interface Ranked {
  readonly rank: number;
}

/** A priority queue: the item of the lowest rank first, by pushes and pops of O(log n). */
export function createHeap<T extends Ranked>() {
  let items: T[] = [];
  const rankAt = (index: number): number => items[index]?.rank ?? Number.POSITIVE_INFINITY;

  function swap(a: number, b: number): void {
    const [first, second] = [items[a] as T, items[b] as T];
    items[a] = second;
    items[b] = first;
  }

  function push(item: T): void {
    let index = items.push(item) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (rankAt(parent) <= rankAt(index)) return;
      swap(parent, index);
      index = parent;
    }
  }

  function pop(): T | undefined {
    const top = items[0];
    const last = items.pop();
    if (last === undefined || items.length === 0) return top;
    items[0] = last;
    for (let index = 0; ; ) {
      const left = 2 * index + 1;
      const least = rankAt(left + 1) < rankAt(left) ? left + 1 : left;
      if (rankAt(least) >= rankAt(index)) return top;
      swap(least, index);
      index = least;
    }
  }

  /** Drops all others, in O(n log n). */
  function keep(isKept: (item: T) => boolean): void {
    // A sorted array is a heap.
    items = items.filter(isKept).sort((a, b) => a.rank - b.rank);
  }

  return { push, pop, keep, peek: (): T | undefined => items[0], size: (): number => items.length };
}
