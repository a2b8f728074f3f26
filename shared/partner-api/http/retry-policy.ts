/** Which faults are retried within one call. If the call still fails, the queue or the next run retries. */
import type { PartnerError } from '../../domain/faults.ts';
import { NoAnswerError } from './transport.ts';

export interface RetryPolicy {
  /** Total number of attempts, including the first. */
  readonly maxAttempts: number;
  /** Upper limit of the first wait; it doubles with each attempt, with full jitter. */
  readonly baseMs: number;
  readonly capMs: number;
  /** Whether this fault may be retried. */
  readonly covers: (fault: PartnerError) => boolean;
}

/** Retries every transient fault: a GET changes nothing, so it may be repeated. */
export const getPolicy: RetryPolicy = {
  maxAttempts: 3,
  baseMs: 250,
  capMs: 5_000,
  covers: ({ policy }) => policy.retryable,
};

/**
 * Retries only if no part of the request was sent. A token request whose answer is lost may have used up a one-time
 * code, or rotated the refresh token. (By partner-api.md §5.3 rule 3 the service returns the latest refresh token again
 * on the same day, but the rule does not say clearly that the old one still works.) The refresh-token stage, which has
 * recorded its attempt, decides about a retry.
 */
export const tokenPolicy: RetryPolicy = {
  ...getPolicy,
  covers: ({ cause }) => cause instanceof NoAnswerError && cause.code === 'not-connected',
};
