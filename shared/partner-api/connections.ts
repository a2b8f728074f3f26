import type { Clock } from '../domain/clock.ts';

/**
 * Hands out the connections, in order of asking. A request takes its connection before it takes its turn in the rate
 * budget: were it the other way round, requests waiting for a socket would leave in a burst when one comes free.
 */
export function createConnections(count: number, clock: Clock) {
  let free = count;
  const waiting = new Set<(got: true) => void>();

  return {
    /** Takes one if there is one. */
    take(): boolean {
      if (free === 0) return false;
      free -= 1;
      return true;
    },
    /** Waits for one. @returns false when there was none by `deadlineMs` */
    async wait(deadlineMs: number): Promise<boolean> {
      const given = new AbortController();
      return new Promise<boolean>((resolve) => {
        const give = () => {
          given.abort();
          resolve(true);
        };
        waiting.add(give);
        void clock.sleep(deadlineMs - clock.now(), given.signal).then(() => {
          if (waiting.delete(give)) resolve(false);
        });
      });
    },
    release(): void {
      const [next] = waiting;
      if (!next) {
        free += 1;
        return;
      }
      waiting.delete(next);
      next(true);
    },
  };
}
