/** Which incidents and which branches of the protocol really occurred, and how often. */

export type Coverage = ReturnType<typeof createCoverage>;

export function createCoverage() {
  const counts = new Map<string, number>();
  return {
    counts: counts as ReadonlyMap<string, number>,
    count(name: string): void {
      counts.set(name, (counts.get(name) ?? 0) + 1);
    },
  };
}
