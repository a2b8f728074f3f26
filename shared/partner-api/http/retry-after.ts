import { believedDate, httpTime } from './service-clock.ts';

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
