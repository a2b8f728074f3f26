export interface BackoffOptions {
  readonly baseMs: number;
  readonly capMs: number;
  /** A number in [0, 1). */
  readonly random: () => number;
}

/**
 * How long to wait after attempt number `attempt` (the first is 1): exponential with full jitter.
 *
 * @see https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
 */
export function backoffMs(attempt: number, { baseMs, capMs, random }: BackoffOptions): number {
  return Math.ceil(random() * Math.min(capMs, baseMs * 2 ** Math.min(30, attempt - 1)));
}
