/** Faults that say why the rate limiter refused a request. */
import { asPartnerError, PartnerError } from '../../domain/faults.ts';

const paused = (resource: string, waitMs: number, why: string) =>
  new PartnerError('paused', `not sent (${resource}): ${why}`, {
    retryAfterMs: Math.max(1, Math.ceil(waitMs)),
  });

export const pausedByServiceFault = (resource: string, waitMs: number) =>
  paused(resource, waitMs, 'the service asked for a pause');

export const noSlotFault = (resource: string, waitMs: number) =>
  paused(resource, waitMs, 'the rate budget has no slot before the deadline');

export const unreachableFault = (error: unknown) =>
  new PartnerError('transient', `the rate budget cannot be reached: ${asPartnerError(error).message}`, {
    cause: error,
  });
