/** Slots that were reserved and not used yet, oldest first; kept as runs, for at high rates they come by the thousand. */

interface Run {
  firstMs: number;
  left: number;
}

export function createReservedSlots(intervalMs: number) {
  const runs: Run[] = [];
  let count = 0;

  return {
    count: () => count,
    add(firstMs: number, granted: number): void {
      if (granted === 0) return;
      runs.push({ firstMs, left: granted });
      count += granted;
    },
    /** The oldest slot. */
    first: (): number | undefined => runs[0]?.firstMs,
    /** The slot that `place` others come before; undefined when there are not so many. */
    at(place: number): number | undefined {
      let before = place;
      for (const { firstMs, left } of runs) {
        if (before < left) return firstMs + before * intervalMs;
        before -= left;
      }
      return undefined;
    },
    take(): void {
      const run = runs[0];
      if (!run) return;
      run.firstMs += intervalMs;
      run.left -= 1;
      count -= 1;
      if (run.left === 0) runs.shift();
    },
    /** Gives up the slots before `ms`. */
    dropBefore(ms: number): void {
      for (let run = runs[0]; run && run.firstMs < ms; run = runs[0]) {
        const late = Math.min(run.left, Math.ceil((ms - run.firstMs) / intervalMs));
        run.firstMs += late * intervalMs;
        run.left -= late;
        count -= late;
        if (run.left > 0) return;
        runs.shift();
      }
    },
  };
}
