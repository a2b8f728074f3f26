/**
 * "Not now" has one shape, on a partner account or on the whole bridge: a hold. This file has the only rules about holds;
 * blame.ts decides when the service's answers make one.
 */
import * as v from 'valibot';
import { kept, moment, someText } from '../contract/checks.ts';
import { isLasting } from './clock.ts';
import { BridgeFault, type FaultKind } from './faults.ts';

const hold = kept({
  kind: v.picklist(['authorization', 'operator', 'service', 'circuit', 'token']),
  since: moment,
  /** Absent: somebody ends it. */
  until: v.exactOptional(moment),
  /** Its length. An end that is much further away was written before a clock was set back, and does not count. */
  forMs: v.exactOptional(v.number()),
  reason: v.exactOptional(someText),
  /** Of an operator's hold: on a stack the caller's ARN, on an embedded bridge the user of the machine. */
  who: v.exactOptional(someText),
  /**
   * The fault of the answers that made the hold. After the end of such a hold, unless it was a pause that the service
   * asked for, one request at a time tries the service until an answer is good.
   */
  fault: v.exactOptional(someText),
  /** Until when the others wait for the one that tries it; `by`: its resource. */
  tried: v.exactOptional(kept({ by: v.exactOptional(someText), until: moment })),
});
export type Hold = Readonly<v.InferOutput<typeof hold>>;
export type HoldKind = Hold['kind'];

/** At most one of each kind. */
export const holds = v.exactOptional(v.pipe(v.array(hold), v.readonly()));

/** The row of a partner account, or of the whole bridge. */
export interface Holder {
  readonly holds?: readonly Hold[];
  /**
   * The evidence. Of the bridge: a resource that answered 403 without a known code, with no good answer of the service since.
   * Of an account: adverts that failed, with no good answer about an advert since.
   */
  readonly failing?: readonly string[];
  /** Of the bridge: the number of partner accounts that are not stopped. */
  readonly connected?: number;
}

interface HoldMeaning {
  /** The fault of a request that is not sent because of it. */
  readonly account: FaultKind;
  readonly bridge: FaultKind;
  /**
   * A person ends it: so messages leave the queue even if its end is near, and requests for tokens are sent, for no
   * credential must die meanwhile.
   */
  readonly isForPerson: boolean;
}

/** Made by the service's answers: its end is known, and nobody waits for it for long. */
const passing: HoldMeaning = { account: 'account-paused', bridge: 'paused', isForPerson: false };

export const holdMeanings: Readonly<Record<HoldKind, HoldMeaning>> = {
  /** The user has to authorize again. */
  authorization: { account: 'account-stopped', bridge: 'account-stopped', isForPerson: true },
  operator: { account: 'operator-paused', bridge: 'operator-paused', isForPerson: true },
  /** The service asked to wait, or answers nothing well. */
  service: passing,
  /** The service refuses the address, or the account: the circuit is open. */
  circuit: passing,
  /** There is no token that the service accepts. */
  token: passing,
};

/** How long all others wait for the result of a trial; the process that makes it may crash. */
const trialMs = 30_000;

/** When the hold ends, ms since 1970: 0 without a hold, Infinity if somebody has to end it. */
export const endOfHold = (hold: Hold | undefined): number =>
  hold ? (hold.until ?? Number.POSITIVE_INFINITY) : 0;

/** When an answer last made it, or made it longer. */
export const beginOfHold = (hold: Hold): number => endOfHold(hold) - (hold.forMs ?? 0);

function isInForce({ until, forMs = Number.POSITIVE_INFINITY }: Hold, now: number): boolean {
  // Rule: hold-has-a-length
  return until === undefined || isLasting(until, forMs, now);
}

/** The hold of this kind that is in force. */
export const heldBy = (holder: Holder | undefined, kind: HoldKind, now: number): Hold | undefined =>
  holder?.holds?.find((hold) => hold.kind === kind && isInForce(hold, now));

/** Holds that a person ends come before the others. */
const ranks: Readonly<Partial<Record<HoldKind, number>>> = { authorization: 2, operator: 1 };

const byWeight = (one: Hold, other: Hold): number =>
  (ranks[other.kind] ?? 0) - (ranks[one.kind] ?? 0) || endOfHold(other) - endOfHold(one);

/** The hold in force: a stop, an operator's, or else the one that ends last; of equal ones that of the account. */
export const holdOf = (bridge: Holder | undefined, account: Holder | undefined, now: number) =>
  [...(account?.holds ?? []), ...(bridge?.holds ?? [])]
    .filter((hold) => isInForce(hold, now))
    .sort(byWeight)[0];

/** Whether the service's answers made it, and end it. */
export const isBlaming = ({ fault }: Hold): boolean => fault !== undefined;

/** The hold because of the service's answers, whether it has ended or not. */
export const blamingHold = ({ holds }: Holder): Hold | undefined => holds?.find(isBlaming);

/** The hold that `before` has not, or with another end. */
export const newHold = (before: Holder, { holds }: Holder): Hold | undefined =>
  holds?.find((one) => before.holds?.find(({ kind }) => kind === one.kind)?.until !== one.until);

/** Who asks: tokens are renewed even during an operator's hold, and are no trial. */
export interface Asking {
  readonly resource: string;
  readonly isForTokens?: boolean;
  /** It has failed before: so it tries the service only if no other does. Default false. */
  readonly isIll?: boolean;
}

/** Whether an advert is asked for, and not a feed, a list or a token. */
export const isOfAdvert = (resource: string): boolean => /\d$/.test(resource);

/** The hold that has ended, so that one request at a time tries the service, and not this one; of an account: its adverts. */
const triedHold = ({ holds }: Holder, { resource, isForTokens }: Asking, now: number): Hold | undefined =>
  holds?.find(
    (hold) =>
      !isForTokens &&
      isBlaming(hold) &&
      hold.fault !== 'rate-limited' &&
      // Rule: feed-goes-on
      (hold.kind !== 'service' || isOfAdvert(resource)) &&
      !isInForce(hold, now) &&
      // Rule: one-trial-at-a-time
      hold.tried?.by !== resource,
  );

/** The hold because of which the request is not sent now, with its end for that request. */
export function holdFor(holder: Holder, asking: Asking, now: number) {
  const { isForTokens = false, isIll = false } = asking;
  // Planted fault: tokens-held-back
  const concerning = withoutHolds(holder, ({ kind }) => isForTokens && holdMeanings[kind].isForPerson);
  const inForce = holdOf(undefined, concerning, now);
  if (inForce) return inForce;
  const hold = triedHold(holder, asking, now);
  // Rule: healthy-before-ill
  const until = (hold?.tried?.until ?? 0) + (isIll ? trialMs : 0);
  return hold && isLasting(until, 2 * trialMs, now) ? { ...hold, until } : undefined;
}

/** For a request that may be sent: the row in which it tries the service. The same object if it need not, or does. */
export function withTrial<T extends Holder>(holder: T, asking: Asking, now: number): T {
  const hold = triedHold(holder, asking, now);
  return hold ? withHold(holder, { ...hold, tried: { by: asking.resource, until: now + trialMs } }) : holder;
}

export const withHold = <T extends Holder>(holder: T, hold: Hold): T => ({
  ...holder,
  holds: [...(holder.holds ?? []).filter(({ kind }) => kind !== hold.kind), hold],
});

/** @returns the same object if there is no such hold */
export function withoutHolds<T extends Holder>(holder: T, isOver: (hold: Hold) => boolean): T {
  const { holds = [], ...rest } = holder;
  const left = holds.filter((hold) => !isOver(hold));
  if (left.length === holds.length) return holder;
  return (left.length > 0 ? { ...rest, holds: left } : rest) as T;
}

/** The fault of a request that is not sent. @param account undefined: the whole bridge is on hold */
export function heldFault(hold: Hold, account: string | undefined, nowMs: number): BridgeFault {
  const { kind, reason, until, who } = hold;
  const whose = account === undefined ? 'the whole bridge' : `partner account ${account}`;
  const by = who === undefined ? '' : ` by ${who}`;
  const why = reason === undefined ? '' : ` (${reason})`;
  const fault = holdMeanings[kind][account === undefined ? 'bridge' : 'account'];
  const verb = kind === 'authorization' ? 'is stopped' : 'is paused';
  const wait = until === undefined ? {} : { retryAfterMs: Math.max(1, until - nowMs) };
  return new BridgeFault(fault, `${whose} ${verb}${by}${why}`, wait);
}
