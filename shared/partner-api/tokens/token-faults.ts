/** Faults that say why a partner account has no usable token now. */
import { faultKinds, faultPolicies, PartnerError } from '../../domain/faults.ts';

/** Long enough for the row of the next generation to become visible. */
const lookAgainMs = 5_000;

export const stoppedFault = (name: string, reason: string) =>
  new PartnerError('account-stopped', `partner account ${name} is stopped: ${reason}`);

export const pausedFault = (name: string, reason: string, waitMs: number) =>
  new PartnerError('account-paused', `partner account ${name} waits: ${reason}`, {
    retryAfterMs: Math.max(1, waitMs),
  });

/** The message or poll that needed the token is retried; by then its account has another generation, or is forgotten. */
export const generationOverFault = (name: string, generation: number) =>
  new PartnerError('generation-over', `generation ${generation} of partner account ${name} is over`, {
    retryAfterMs: lookAgainMs,
  });

export const notRenewedFault = (name: string, retryAfterMs: number) =>
  new PartnerError('transient', `the token of partner account ${name} was not renewed in time`, {
    retryAfterMs,
  });

/** A failed refresh is never the fault of the advert, so the advert's message must not be dead-lettered by tries. */
export function refreshFault(name: string, kind: string, reason: string): PartnerError {
  const known = faultKinds.find((candidate) => candidate === kind) ?? 'transient';
  const blamesAdvert = faultPolicies[known].deadLettered !== 'by-age';
  return new PartnerError(blamesAdvert ? 'transient' : known, `token of partner account ${name}: ${reason}`);
}
