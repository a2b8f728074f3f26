/** The service's clock, as its `Date` headers show it, as far as the bridge believes them. */
import type { Observer } from '../../ports/observer.ts';

/** A time zone mistaken for UTC is off by half a day; a clock that is off by more than a day tells nothing. */
const maxOffMs = 86_400_000;

/**
 * Milliseconds since 1970 of a `Date` header, in whole seconds as HTTP has it.
 *
 * @returns undefined where there is none, it is not a date, or it differs from `nowMs` by more than a day
 */
export function believedDate(date: string | undefined, nowMs: number): number | undefined {
  const dateMs = httpTime(date, nowMs);
  return date !== undefined && Math.abs(dateMs - nowMs) <= maxOffMs ? dateMs : undefined;
}

/** Reads the service's clock. One for each process, for it warns only once of a `Date` that is off. */
export function createServiceClock(observer?: Observer) {
  let isWarned = false;

  /**
   * The moment, in milliseconds since 1970, from which reading may start so that it misses nothing after this answer:
   * the earlier of its `Date` and the bridge's own clock. Reading again does no harm, skipping changes does.
   *
   * @param nowMs when the answer arrived, by the bridge's clock; stands alone where `Date` is not believed
   */
  return function serviceTimeOf(date: string | undefined, nowMs: number): number {
    const dateMs = believedDate(date, nowMs);
    // Planted fault: date-believed
    if (dateMs !== undefined) return Math.min(dateMs, nowMs);
    const claimedMs = httpTime(date, nowMs);
    if (claimedMs !== nowMs && !isWarned) {
      isWarned = true;
      observer?.warn("the service's Date header is more than a day off: the bridge goes by its own clock", {
        offSeconds: Math.round((claimedMs - nowMs) / 1000),
      });
    }
    return nowMs;
  };
}

/** What the `Date` header says, however far off, in milliseconds since 1970; undefined where it is none. */
export function claimedDate(date: string | undefined): number | undefined {
  const dateMs = httpTime(date, Number.NaN);
  return Number.isNaN(dateMs) ? undefined : dateMs;
}

/**
 * Milliseconds since 1970 of an HTTP date.
 *
 * @param otherwise returned for text that is none
 */
export function httpTime(text: string | undefined, otherwise: number): number {
  // Date.parse takes nearly anything for a date, `-5` for one; HTTP's end in GMT.
  if (text === undefined || !/^[A-Za-z]{3,9},? .*GMT$/.test(text.trim())) return otherwise;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? otherwise : ms;
}
