import { dayMs } from '../domain/clock.ts';
import type { Observer } from '../ports/observer.ts';

/**
 * A local time sent as UTC is off by up to half a day; what is off by more than a day is ignored. Longer waits are cut
 * to this, so that one absurd answer does not stop the bridge for ever.
 */
const longestMs = dayMs;
/** A process may have begun with a clock that is days ahead: reading so much again is harmless, and skipping it is not. */
const mostReadAgainMs = 7 * dayMs;
/** Holds and slots bear such a difference; a greater one is an error of one of the clocks. */
const noticedMs = 10_000;

/** The service's clock by its `Date` headers. One per process, because it warns only once about a difference. */
export function createServiceClock(observer: Observer) {
  let isWarned = false;

  /**
   * From when reading misses no changes after this answer, ms since 1970: the earlier of its `Date` and the bridge's
   * own clock. Reading some changes twice is harmless; skipping changes is not.
   */
  return function serviceTimeOf(date: string | undefined, nowMs: number): number {
    const offMs = (claimedDate(date) ?? nowMs) - nowMs;
    if (Math.abs(offMs) > noticedMs && !isWarned) {
      isWarned = true;
      observer.warn("the clocks of the service and of this process differ: see the service's Date header", {
        offSeconds: Math.round(offMs / 1000),
      });
    }
    // Planted fault: date-believed
    return Math.min(believedDate(date, nowMs, mostReadAgainMs), nowMs);
  };
}

/** The moment of a `Date` header, whose precision is one second; `nowMs` if it differs from that by more than `mostMs`. */
function believedDate(date: string | undefined, nowMs: number, mostMs = longestMs): number {
  const dateMs = claimedDate(date) ?? nowMs;
  return Math.abs(dateMs - nowMs) <= mostMs ? dateMs : nowMs;
}

/** Parses an HTTP date, even if it is far off, to milliseconds since 1970; undefined if it is not a date. */
export function claimedDate(text: string | undefined): number | undefined {
  // Date.parse accepts nearly any text, such as `-5`; HTTP dates end in GMT.
  const ms = /^[A-Za-z]{3,9},? .*GMT$/.test(text?.trim() ?? '') ? Date.parse(text ?? '') : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

/** Nobody is asked to wait for thirty years: so great a number is a moment, as some services send it. */
const leastMomentMs = 1e12;

/**
 * The wait in milliseconds, at most a day; undefined if the header is missing or invalid.
 * @param date the answer's `Date`, from which a date in `Retry-After` counts
 * @see https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
 */
export function retryAfterMs(
  value: string | undefined,
  date: string | undefined,
  nowMs: number,
): number | undefined {
  const text = value?.trim() ?? '';
  const ms = /^\d+(\.\d+)?$/.test(text) ? Math.ceil(Number(text) * 1000) : 0;
  const untilMs = ms > leastMomentMs ? ms : claimedDate(text);
  const waitMs = untilMs === undefined ? ms : untilMs - believedDate(date, nowMs);
  return waitMs > 0 ? Math.min(waitMs, longestMs) : undefined;
}
