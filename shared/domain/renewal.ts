/**
 * How often tokens are renewed: limited by time, in the account's row, so that all processes keep to it. A rejected or
 * expired token is renewed; if that does not help, again after five seconds, doubled to an hour; if it fails, to ten
 * minutes. If the token endpoint fails for several accounts, one of them tries it for all: that wait is in the bridge's
 * row.
 */
import * as v from 'valibot';
import { kept, moment, someText } from '../contract/checks.ts';
import { isLasting } from './clock.ts';
import { type BridgeFault, policyOf } from './faults.ts';
import { type Hold, type Holder, withHold, withoutHolds } from './holds.ts';

/** The last renewal, and how long the next one waits after it. */
const renewal = kept({
  at: moment,
  forMs: v.number(),
  /** Why it brought no token that can be sent; absent: it brought one. */
  fault: v.exactOptional(someText),
  reason: v.exactOptional(someText),
});
export type Renewal = Readonly<v.InferOutput<typeof renewal>>;
export const renewalField = v.exactOptional(renewal);

/** The row of a partner account, or of the whole bridge. */
interface Renewed extends Holder {
  readonly renewal?: Renewal;
}

/** The first wait is short: the service may only be slow to distribute a new token internally. */
const firstMs = 5_000;
const longestMs = 3_600_000;
/** When an outage of the endpoint has ended, all accounts work again within a quarter of an hour. */
const longestOutageMs = 600_000;

const doubled = (ms: number, longest: number): number => Math.min(Math.max(2 * ms, firstMs), longest);

/**
 * The renewal that has just ended. If it ended like the one before, the next one waits twice as long.
 * @param failure absent: it brought a token, which may not have helped
 * @param hasTokens it brought tokens, usable or not: each is a version of the secret, of which there are about a hundred a day
 */
export function nextRenewal(
  before: Renewal | undefined,
  at: number,
  failure?: BridgeFault,
  hasTokens = failure === undefined,
): Renewal {
  // The write of a retry, which had succeeded although its answer was an error, doubles nothing.
  if (before?.at === at) return before;
  const isAlike = before && (before.fault === undefined) === (failure === undefined);
  const longest = hasTokens ? longestMs : longestOutageMs;
  const forMs = doubled(isAlike ? before.forMs : 0, longest);
  if (!failure) return { at, forMs };
  const { code: fault, message: reason, retryAfterMs = 0 } = failure;
  return { at, forMs: Math.max(forMs, retryAfterMs), fault, reason };
}

/** The renewal after which the next one still has to wait. */
export function waitingRenewal({ renewal: last }: Renewed, now: number): Renewal | undefined {
  // Rule: renewal-waits
  return last && isLasting(last.at + last.forMs, last.forMs, now) ? last : undefined;
}

/**
 * After an answer that is good with the token: the next renewal waits as after a first one.
 * @returns undefined if nothing changes
 */
export function helpedRenewal<T extends Renewed>(account: T): T | undefined {
  const { renewal: last } = account;
  // Rule: good-answer-ends-wait
  if (!last || last.fault !== undefined || last.forMs <= firstMs) return undefined;
  return { ...account, renewal: { ...last, forMs: firstMs } };
}

/** Causes of a token's hold that somebody has to end have the name of their fault. */
function causeOf({ fault }: Renewal): string {
  if (fault === undefined || fault === 'contract-broken') return 'token-answer-broken';
  return policyOf(fault)?.needsAttention ? fault : 'token-not-renewed';
}

/** The hold of an account that has no token which can be sent until the next renewal. */
export const isTokenHold = ({ kind, fault }: Hold): boolean => kind === 'token' && fault === undefined;

/** Nothing is sent until the next renewal. */
export function waitingForToken<T extends Renewed>(account: T, last: Renewal): T {
  const { since = last.at } = account.holds?.find(isTokenHold) ?? {};
  const [until, reason] = [last.at + last.forMs, causeOf(last)];
  return withHold(account, { kind: 'token', since, until, forMs: last.forMs, reason });
}

/** The next renewal is due: for an account that is connected again, or whose application has another secret. */
export function renewableNow<T extends Renewed>(row: T): T {
  const { renewal: _renewal, ...rest } = withoutHolds(row, isTokenHold);
  return rest as T;
}

/**
 * The bridge's row after the endpoint has failed for an account whose last renewal had not failed: what fails again and
 * again for the same one is no evidence. The first account waits alone.
 */
export function endpointFailed<T extends Renewed>(bridge: T, at: number, failure: BridgeFault): T {
  const { renewal: before } = bridge;
  const { code: fault, message: reason } = failure;
  // Rule: endpoint-tried-once-for-all
  const forMs = before ? doubled(before.forMs, longestOutageMs) : 0;
  return { ...bridge, renewal: { at, forMs, fault, reason } };
}
