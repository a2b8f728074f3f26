/** The service's clock according to its `Date` headers, if they are plausible. */
import type { Observer } from '../ports/observer.ts';

/**
 * A local time sent as UTC is off by up to half a day, which is accepted; a clock that is off by more than a day is
 * ignored.
 */
const maxOffMs = 86_400_000;
/** Holds and slots bear such a difference; a greater one is an error of one of the clocks. */
const noticedMs = 10_000;

/**
 * Parses a `Date` header to milliseconds since 1970; its precision is one second.
 *
 * @returns undefined if there is none, it is not a date, or it differs from `nowMs` by more than a day
 */
function believedDate(date: string | undefined, nowMs: number): number | undefined {
  const dateMs = httpTime(date, nowMs);
  return date !== undefined && Math.abs(dateMs - nowMs) <= maxOffMs ? dateMs : undefined;
}

/** Reads the service's clock. Create one per process, because it warns only once about a difference. */
export function createServiceClock(observer?: Observer) {
  let isWarned = false;

  /**
   * Returns a time, in milliseconds since 1970, from which reading can start without missing changes after this answer:
   * the earlier of its `Date` and the bridge's own clock. Reading some changes twice is harmless; skipping changes is
   * not.
   *
   * @param nowMs when the answer arrived, by the bridge's clock; used alone if `Date` is implausible
   */
  return function serviceTimeOf(date: string | undefined, nowMs: number): number {
    const offMs = httpTime(date, nowMs) - nowMs;
    if (Math.abs(offMs) > noticedMs && !isWarned) {
      isWarned = true;
      observer?.warn("the clocks of the service and of this process differ: see the service's Date header", {
        offSeconds: Math.round(offMs / 1000),
      });
    }
    const dateMs = believedDate(date, nowMs);
    // Planted fault: date-believed
    if (dateMs !== undefined) return Math.min(dateMs, nowMs);
    return nowMs;
  };
}

/** The value of the `Date` header, even if it is far off, in milliseconds since 1970; undefined if it is not a date. */
export function claimedDate(date: string | undefined): number | undefined {
  const dateMs = httpTime(date, Number.NaN);
  return Number.isNaN(dateMs) ? undefined : dateMs;
}

/**
 * Parses an HTTP date to milliseconds since 1970.
 *
 * @param otherwise returned for text that is not an HTTP date
 */
function httpTime(text: string | undefined, otherwise: number): number {
  // Date.parse accepts nearly any text, such as `-5`; HTTP dates end in GMT.
  if (text === undefined || !/^[A-Za-z]{3,9},? .*GMT$/.test(text.trim())) return otherwise;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? otherwise : ms;
}

/** A day. Longer waits are cut to this, so that one absurd answer does not stop the bridge for ever. */
const longestMs = 86_400_000;

/**
 * Parses `Retry-After` to a wait in milliseconds, at most a day.
 *
 * @param date the answer's `Date`, relative to which a date in `Retry-After` is computed; if it is missing or more than
 * a day off, `nowMs` is used instead
 * @returns undefined if the header is missing or invalid; then backoff decides
 * @see https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
 */
export function retryAfterMs(
  value: string | undefined,
  date: string | undefined,
  nowMs: number,
): number | undefined {
  if (value === undefined) return undefined;
  const text = value.trim();
  const waitMs = /^\d+(\.\d+)?$/.test(text)
    ? Math.ceil(Number(text) * 1000)
    : httpTime(text, Number.NaN) - (believedDate(date, nowMs) ?? nowMs);
  return waitMs > 0 ? Math.min(waitMs, longestMs) : undefined;
}
