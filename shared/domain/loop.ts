import type { Clock } from './clock.ts';

export type Loop = ReturnType<typeof startLoop>;

/**
 * Takes turns: each begins when the wait that the previous one returned is over, or when the loop is woken.
 *
 * @param turn returns how long to wait, in ms; undefined ends the loop, which a turn must do once `stopping` is aborted
 */
export function startLoop(clock: Clock, turn: (stopping: AbortSignal) => Promise<number | undefined>) {
  const stopping = new AbortController();
  let wakeUp = new AbortController();
  // With a reason, because an abort without one creates an error with a stack trace each time.
  const wake = () => wakeUp.abort('woken');

  async function run(): Promise<void> {
    for (;;) {
      wakeUp = new AbortController();
      const waitMs = await turn(stopping.signal);
      if (waitMs === undefined) return;
      if (waitMs > 0) await clock.sleep(waitMs, wakeUp.signal);
    }
  }

  const running = run();
  return {
    /** Begins the next turn at once. */
    wake,
    /** Resolves when the loop has ended. */
    stop: (): Promise<void> => {
      stopping.abort();
      wake();
      return running;
    },
  };
}
