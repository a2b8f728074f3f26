import { believedDate, httpTime } from './service-clock.ts';

/** A day: a longer wait counts as this, so that one mad answer does not stop the bridge for good. */
const longestMs = 86_400_000;

/**
 * How long `Retry-After` asks to wait, in milliseconds, at most a day.
 *
 * @param date the answer's own `Date`, from which a date in `Retry-After` counts; without one, or where it is more than a
 * day off, `nowMs` does
 * @returns undefined where there is no wait, or none that makes sense: then backoff decides
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
