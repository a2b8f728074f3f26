import { type Answer, html, json } from './answer.ts';
import type { RateLimit } from './settings.ts';

/**
 * Uses the system clock, because a client really waits, whatever the service's clock shows.
 * @see partner-api.md §8: limits exist, values and behaviour not shown
 */
export class RateLimiter {
  readonly #nowMs: () => number;
  #passed: number[] = [];
  #blockedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** @returns the refusal, or undefined if the request is allowed */
  check({ requests, perMs, blockMs, status }: RateLimit): Answer | undefined {
    const nowMs = this.#nowMs();
    if (nowMs >= this.#blockedUntilMs) {
      while ((this.#passed[0] ?? nowMs) <= nowMs - perMs) this.#passed.shift();
      if (this.#passed.length < requests) {
        this.#passed.push(nowMs);
        return undefined;
      }
      this.#blockedUntilMs = nowMs + blockMs;
      this.#passed = [];
    }
    if (status === 403) return html(status, '<html><body>Forbidden</body></html>');
    const retryAfterSeconds = Math.ceil((this.#blockedUntilMs - nowMs) / 1000);
    return json(status, { message: 'Too many requests' }, { 'retry-after': String(retryAfterSeconds) });
  }
}
