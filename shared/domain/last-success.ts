/** Clocks of two machines of one bridge differ by less. */
const maxSkewMs = 60_000;

/**
 * A feed's stored `lastSuccess` (ms since 1970) as far as it can be true: never later than now. A moment in the future
 * says nothing about how far the feed was read; earlier versions of the bridge stored what the service's clock said.
 *
 * @returns undefined when nothing is stored, or it lies in the future
 */
export const knownSuccess = (lastSuccess: number | undefined, nowMs: number): number | undefined =>
  lastSuccess === undefined || lastSuccess > nowMs + maxSkewMs ? undefined : Math.min(lastSuccess, nowMs);
