/** Why a partner account has no token for now, as faults; believed for a moment, so that not each message asks again. */
import type { Clock } from '../../domain/clock.ts';
import { faultKinds, faultPolicies, PartnerError } from '../../domain/faults.ts';

/** A stop or a pause is believed this long: `connect` may end it at any time. */
const believedMs = 5_000;

export const stoppedFault = (name: string, reason: string) =>
  new PartnerError('account-stopped', `partner account ${name} is stopped: ${reason}`);

export const pausedFault = (name: string, reason: string, waitMs: number) =>
  new PartnerError('account-paused', `partner account ${name} waits: ${reason}`, {
    retryAfterMs: Math.max(1, waitMs),
  });

/** What asked for it is looked at again: its account has another generation by then, or is forgotten. */
export const generationOverFault = (name: string, generation: number) =>
  new PartnerError('generation-over', `generation ${generation} of partner account ${name} is over`, {
    retryAfterMs: believedMs,
  });

export const notRenewedFault = (name: string, retryAfterMs: number) =>
  new PartnerError('transient', `the token of partner account ${name} was not renewed in time`, {
    retryAfterMs,
  });

/** A refresh that failed is never the fault of the advert it was meant for, so it is not to be dead-lettered by tries. */
export function refreshFault(name: string, kind: string, reason: string): PartnerError {
  const known = faultKinds.find((candidate) => candidate === kind) ?? 'transient';
  const blamesAdvert = faultPolicies[known].deadLettered !== 'by-age';
  return new PartnerError(blamesAdvert ? 'transient' : known, `token of partner account ${name}: ${reason}`);
}

interface Refusal {
  readonly fault: PartnerError;
  readonly at: number;
}

/** Remembers stops and pauses. */
export function createRefusals(clock: Clock) {
  const refusals = new Map<string, Refusal>();

  return {
    /** Remembers `fault`, if it is a stop or a pause. */
    note(name: string, fault: PartnerError): void {
      if (fault.code !== 'account-stopped' && fault.code !== 'account-paused') return;
      const known = refusals.get(name);
      if (known?.fault !== fault) refusals.set(name, { fault, at: clock.now() });
    },
    /** @throws {PartnerError} the one remembered, with what is left of its wait */
    check(name: string): void {
      const refusal = refusals.get(name);
      if (!refusal) return;
      const { fault, at } = refusal;
      const passedMs = clock.now() - at;
      if (passedMs >= Math.min(believedMs, fault.retryAfterMs ?? believedMs)) refusals.delete(name);
      else if (fault.retryAfterMs === undefined) throw fault;
      else throw new PartnerError(fault.code, fault.message, { retryAfterMs: fault.retryAfterMs - passedMs });
    },
  };
}
