/** Requests to the refresh-token function, and its answers. Neither contains a token. */
import * as v from 'valibot';
import { partnerAccountName } from './checks.ts';

/**
 * Why the caller cannot use the token: it has expired by the bridge's clock (`expired`), or the service rejected it.
 * The two clocks differ, so an expired token may still be valid for a moment, and a refresh may return it again.
 */
export const rejections = ['expired', 'token-rejected', 'scope-insufficient'] as const;
export type Rejection = (typeof rejections)[number];

const refreshRequest = {
  partnerAccount: partnerAccountName,
  /** The version whose token was rejected. If a newer version is current, nothing is done. */
  rejectedVersion: v.string(),
  because: v.picklist(rejections),
} as const;
export type RefreshRequest = Readonly<v.InferOutput<v.ObjectSchema<typeof refreshRequest, undefined>>>;

/** The event that drain and fan-out send. An event without an action, such as the schedule's, starts a sweep. */
export const refreshEvent = v.object({ action: v.literal('refresh'), ...refreshRequest });
export type RefreshEvent = v.InferOutput<typeof refreshEvent>;

/** Result of a request for a refresh. */
export const refreshOutcome = v.variant('kind', [
  /** A newer version is stored, by this refresh or by another one. */
  v.object({ kind: v.literal('renewed') }),
  /** Another process is refreshing the token: read it again after a moment. */
  v.object({ kind: v.literal('busy'), retryAfterMs: v.number() }),
  v.object({ kind: v.literal('paused'), untilMs: v.number(), reason: v.string() }),
  v.object({ kind: v.literal('stopped'), reason: v.string() }),
  /** `fault` is a kind from shared/domain/faults.ts; an open string, because the caller may have another version. */
  v.object({ kind: v.literal('failed'), fault: v.string(), reason: v.string() }),
]);
export type RefreshOutcome = Readonly<v.InferOutput<typeof refreshOutcome>>;
