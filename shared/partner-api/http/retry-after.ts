import { believedDate, httpTime } from './service-clock.ts';

/** A day: what asks for more is taken for this, so that one mad answer does not stop the bridge for good. */
const longestMs = 86_400_000;

/**
 * How long `Retry-After` asks to wait, in milliseconds, at most a day.
 *
 * @param date the answer's own `Date`, which a date in `Retry-After` is reckoned from; `nowMs` is where there is none or
 * it is more than a day off
 * @returns undefined where there is none, it makes no sense, or it lies in the past: then backoff decides
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
