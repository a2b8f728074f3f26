/**
 * Hands out the connections, first come, first served. A request takes its connection before its slot of the rate budget:
 * the other way round, requests that wait for a connection would leave in a burst when one comes free.
 */
export function createConnections(count: number) {
  let free = count;
  const waiting = new Set<() => void>();

  return {
    /** Takes one if there is one. */
    take(): boolean {
      if (free === 0) return false;
      free -= 1;
      return true;
    },
    /** Waits for one, in real time, as the sockets do. @returns false when there was none within `maxMs` */
    wait(maxMs: number): Promise<boolean> {
      return new Promise((resolve) => {
        const give = () => {
          clearTimeout(timer);
          resolve(true);
        };
        const timer = setTimeout(() => {
          waiting.delete(give);
          resolve(false);
        }, maxMs);
        waiting.add(give);
      });
    },
    release(): void {
      const [next] = waiting;
      if (!next) {
        free += 1;
        return;
      }
      waiting.delete(next);
      next();
    },
  };
}
