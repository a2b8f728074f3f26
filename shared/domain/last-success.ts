/** The clocks of two machines of one bridge differ by less than this. */
const maxSkewMs = 60_000;

/**
 * A feed's stored `lastSuccess` (ms since 1970), if it is plausible. A moment in the future is not: this machine's clock
 * was set back after it was stored, or the clock of the machine that stored it is wrong.
 *
 * @returns undefined when nothing is stored, or it lies in the future
 */
export const knownSuccess = (lastSuccess: number | undefined, nowMs: number): number | undefined =>
  lastSuccess === undefined || lastSuccess > nowMs + maxSkewMs ? undefined : Math.min(lastSuccess, nowMs);
