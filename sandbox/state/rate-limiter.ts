import { type Answer, html, json } from './answer.ts';
import type { RateLimit } from './settings.ts';

/**
 * Uses the system clock, because a client really waits, whatever the service's clock shows.
 * @returns a function that returns the refusal of a request, or undefined if it is allowed
 * @see partner-api.md §8: limits exist, values and behaviour not shown
 */
export function createRateLimiter(clock: () => number = () => performance.now()) {
  let passed: number[] = [];
  let blockedUntilMs = Number.NEGATIVE_INFINITY;
  return ({ requests, perMs, blockMs, status }: RateLimit): Answer | undefined => {
    const nowMs = clock();
    if (nowMs >= blockedUntilMs) {
      while ((passed[0] ?? nowMs) <= nowMs - perMs) passed.shift();
      if (passed.length < requests) {
        passed.push(nowMs);
        return undefined;
      }
      blockedUntilMs = nowMs + blockMs;
      passed = [];
    }
    if (status === 403) return html(status, '<html><body>Forbidden</body></html>');
    const retryAfterSeconds = Math.ceil((blockedUntilMs - nowMs) / 1000);
    return json(status, { message: 'Too many requests' }, { 'retry-after': String(retryAfterSeconds) });
  };
}
