/** Requests of the command line and of other functions to drain and refresh-token, and their answers, without tokens. */
import * as v from 'valibot';
import { partnerAccountName } from './checks.ts';

/** The command `poll`, to the drain function. Any other event is treated like the schedule's event. */
export const pollEvent = v.object({
  action: v.literal('poll'),
  partnerAccount: v.exactOptional(partnerAccountName),
});
export type PollEvent = v.InferOutput<typeof pollEvent>;

export const pollAnswer = v.object({
  polls: v.array(
    v.object({
      partnerAccount: v.string(),
      feed: v.string(),
      /** See PollReport in functions/drain/poll-feed.ts. An open string, because the function may have another version. */
      end: v.string(),
      pages: v.number(),
      listed: v.number(),
      /** For `held`: the process that is reading the feed. */
      by: v.exactOptional(v.string()),
      /** For `fault`: the kind of fault (shared/domain/faults.ts) and what happened. */
      fault: v.exactOptional(v.string()),
      reason: v.exactOptional(v.string()),
    }),
  ),
  notPolled: v.array(
    v.object({
      partnerAccount: v.string(),
      reason: v.string(),
      /** When the feed is polled again automatically; ISO 8601, absent if manual action is needed. */
      until: v.exactOptional(v.string()),
    }),
  ),
});
export type PollAnswer = v.InferOutput<typeof pollAnswer>;

/** The event that drain and fan-out send. An event without an action, such as the schedule's, starts a sweep. */
export const refreshEvent = v.object({
  action: v.literal('refresh'),
  partnerAccount: partnerAccountName,
  /** The version whose token was rejected. If a newer version is current, nothing is done. */
  rejectedVersion: v.string(),
  /** By the bridge's clock an `expired` token may still be valid for a moment, and a refresh may return it again. */
  because: v.picklist(['expired', 'token-rejected', 'scope-insufficient']),
});
export type RefreshEvent = v.InferOutput<typeof refreshEvent>;
export type RefreshRequest = Readonly<Omit<RefreshEvent, 'action'>>;
export type Rejection = RefreshEvent['because'];

export const refreshOutcome = v.variant('kind', [
  /** A newer version is stored, by this refresh or by another one. */
  v.object({ kind: v.literal('renewed') }),
  /** The account is unknown, stopped or on hold: its row says why. */
  v.object({ kind: v.literal('held') }),
  /** `fault` is a kind from shared/domain/faults.ts; an open string, because the caller may have another version. */
  v.object({ kind: v.literal('failed'), fault: v.string(), reason: v.string() }),
]);
export type RefreshOutcome = Readonly<v.InferOutput<typeof refreshOutcome>>;
