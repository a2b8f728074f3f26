/** What the refresh-token function is asked for, and what it answers. Neither holds a token. */
import * as v from 'valibot';
import { partnerAccountName } from './checks.ts';

/**
 * Why a token is handed back: it has expired by the bridge's clock (`expired`), or the service would not take it. The
 * two clocks differ, so an expired one may be good for a moment more, and come back from a refresh.
 */
export const rejections = ['expired', 'token-rejected', 'scope-insufficient'] as const;
export type Rejection = (typeof rejections)[number];

const refreshRequest = {
  partnerAccount: partnerAccountName,
  /** The version whose token was rejected; nothing happens when a newer one is current. */
  rejectedVersion: v.string(),
  because: v.picklist(rejections),
} as const;
export type RefreshRequest = Readonly<v.InferOutput<v.ObjectSchema<typeof refreshRequest, undefined>>>;

/** The event of drain and fan-out. Any event that names no action, the schedule's for one, asks for a sweep. */
export const refreshEvent = v.object({ action: v.literal('refresh'), ...refreshRequest });
export type RefreshEvent = v.InferOutput<typeof refreshEvent>;

/** What came of asking for a refresh. */
export const refreshOutcome = v.variant('kind', [
  /** A newer version is stored, by this try or by another. */
  v.object({ kind: v.literal('renewed') }),
  /** Somebody else is at it: look again after a moment. */
  v.object({ kind: v.literal('busy'), retryAfterMs: v.number() }),
  v.object({ kind: v.literal('paused'), untilMs: v.number(), reason: v.string() }),
  v.object({ kind: v.literal('stopped'), reason: v.string() }),
  /** `fault` is one of shared/domain/faults.ts; an open string, for the caller may be of another version. */
  v.object({ kind: v.literal('failed'), fault: v.string(), reason: v.string() }),
]);
export type RefreshOutcome = Readonly<v.InferOutput<typeof refreshOutcome>>;
