import { performance } from 'node:perf_hooks';
import type { Answer } from './answer.ts';
import type { RateLimit } from './assumptions.ts';

export interface RateLimiter {
  /** @returns the refusal, or undefined if the request is allowed */
  check(limit: RateLimit): Answer | undefined;
}

/**
 * Uses the system clock, because a client really waits, whatever the service's clock shows.
 * @see partner-api.md §8: limits exist, values and behaviour not shown
 */
export function createRateLimiter(nowMs: () => number = () => performance.now()): RateLimiter {
  let passed: number[] = [];
  let blockedUntilMs = Number.NEGATIVE_INFINITY;
  return {
    check: ({ requests, perMs, blockMs, status }) => {
      const now = nowMs();
      if (now >= blockedUntilMs) {
        while ((passed[0] ?? now) <= now - perMs) passed.shift();
        if (passed.length < requests) {
          passed.push(now);
          return undefined;
        }
        blockedUntilMs = now + blockMs;
        passed = [];
      }
      return refusal(status, Math.ceil((blockedUntilMs - now) / 1000));
    },
  };
}

function refusal(status: 429 | 403, retryAfterSeconds: number): Answer {
  if (status === 429) {
    return {
      status,
      body: '{"message":"Too many requests"}',
      headers: { 'retry-after': String(retryAfterSeconds) },
    };
  }
  return { status, body: '<html><body>Forbidden</body></html>', headers: { 'content-type': 'text/html' } };
}
