/** Which faults are retried inside one call. What still fails is retried by the queue, or by the next run. */
import type { PartnerError } from '../../domain/faults.ts';
import { NoAnswerError } from './transport.ts';

export interface RetryPolicy {
  /** In all, the first one included. */
  readonly maxAttempts: number;
  /** First wait at most; doubles with each attempt, full jitter. */
  readonly baseMs: number;
  readonly capMs: number;
  /** Whether this fault may be met with another attempt. */
  readonly covers: (fault: PartnerError) => boolean;
}

/** Every transient fault. A GET changes nothing, so it may be sent any number of times. */
export const getPolicy: RetryPolicy = {
  maxAttempts: 3,
  baseMs: 250,
  capMs: 5_000,
  covers: ({ policy }) => policy.retryable,
};

/**
 * Only what never left this machine. A token request whose answer is lost may have used up a one-time code, or rotated
 * the refresh token (partner-api.md §5.3 rule 3 returns the latest one again that day, but only suggests that for the old
 * one). So the refresh-token stage decides, which has recorded its try.
 */
export const tokenPolicy: RetryPolicy = {
  ...getPolicy,
  covers: ({ cause }) => cause instanceof NoAnswerError && cause.code === 'not-connected',
};
