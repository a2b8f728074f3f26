/**
 * Assigns connections in the order of the requests. A request takes its connection before its slot of the rate budget.
 * In the reverse order, requests that wait for a connection would be sent in a burst when one becomes free.
 */
export function createConnections(count: number) {
  let free = count;
  const waiting = new Set<() => void>();

  return {
    /** Takes a free connection, if there is one. */
    take(): boolean {
      if (free === 0) return false;
      free -= 1;
      return true;
    },
    /** Waits for a connection, in real time like the sockets. @returns false if none became free within `maxMs` */
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
