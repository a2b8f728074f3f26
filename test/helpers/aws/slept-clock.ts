/**
 * A system clock that advances only during sleeps, or when the test advances it: so what is counted comes out the same,
 * whatever the machine does. A sleep that can be ended early is a time limit, and takes no time.
 */
export function createSleptClock() {
  let now = Date.now();
  return {
    now: () => now,
    pass(ms: number): void {
      now += ms;
    },
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve) => {
        const end = () => {
          now += Math.max(0, ms);
          resolve();
        };
        // What is ready by now is done before time passes.
        if (!signal) setImmediate(end);
        else if (signal.aborted) resolve();
        else signal.addEventListener('abort', () => resolve(), { once: true });
      }),
  };
}
