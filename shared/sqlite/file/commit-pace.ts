/** Commits a second that may go on for ever: under load one each 10 ms, with all that came in between. */
const perSecond = 100;
/** So many more may come at once: what an idle bridge does, and a change now and then, waits for nothing. */
const burst = 20;
/** A wait that brought fewer together was for nothing: whoever writes waits for each write before the next. */
const worthwhile = 4;

/**
 * How long a commit may wait for others to share it, by a bucket of tokens. A transaction costs as much as several
 * changes in it, and what is published after it goes out in one piece.
 *
 * @param now ms, from any start
 */
export function createCommitPace(now: () => number = uptimeMs) {
  let tokens = burst;
  let countedAt = now();
  let hasWaited = false;

  function count(): void {
    const at = now();
    tokens = Math.min(burst, tokens + ((at - countedAt) * perSecond) / 1000);
    countedAt = at;
  }

  return {
    /** Ms until the next commit; 0: at once. */
    waitMs(): number {
      count();
      hasWaited = tokens < 1;
      return hasWaited ? Math.ceil(((1 - tokens) * 1000) / perSecond) : 0;
    },
    /** To be told of each commit. @param changes how many were in it */
    committed(changes: number): void {
      count();
      tokens = hasWaited && changes < worthwhile ? burst : Math.max(0, tokens - 1);
      hasWaited = false;
    },
  };
}

/** Not of `performance`, for which Node loads all its tools of measuring. */
const uptimeMs = (): number => process.uptime() * 1000;
