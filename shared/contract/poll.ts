/** The request of the command `poll` to the drain function, and its answer. */
import * as v from 'valibot';
import { partnerAccountName } from './checks.ts';

/** Any other event is treated like the schedule's event. */
export const pollEvent = v.object({
  action: v.literal('poll'),
  /** Default: every partner account that may be polled. */
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
      /** Number of IDs on the pages. */
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
