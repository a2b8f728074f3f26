import type { Clock } from './clock.ts';

export interface Loop {
  /** Begins the next turn at once. */
  wake(): void;
  /** Resolves when the loop has ended. */
  stop(): Promise<void>;
}

/**
 * Takes turns: each begins when the wait that the previous one returned is over, or when the loop is woken.
 *
 * @param turn returns how long to wait, in ms; undefined ends the loop, which a turn must do once the loop is stopping
 */
export function startLoop(clock: Clock, turn: (isStopping: boolean) => Promise<number | undefined>): Loop {
  let isStopping = false;
  let wakeUp = new AbortController();
  // With a reason, because an abort without one creates an error with a stack trace each time.
  const wake = () => wakeUp.abort('woken');

  async function run(): Promise<void> {
    for (;;) {
      wakeUp = new AbortController();
      const waitMs = await turn(isStopping);
      if (waitMs === undefined) return;
      if (waitMs > 0) await clock.sleep(waitMs, wakeUp.signal);
    }
  }

  const running = run();
  return {
    wake,
    stop: () => {
      isStopping = true;
      wake();
      return running;
    },
  };
}
