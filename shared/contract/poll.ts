/** What an operator asks the drain function for, and what it answers. */
import * as v from 'valibot';
import { partnerAccountName } from './checks.ts';

/** Any other event, the schedule's for one, asks for what the schedule asks for. */
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
      /** See PollReport in functions/drain/poll-feed.ts. Open, for the function may be of another version. */
      end: v.string(),
      pages: v.number(),
      /** IDs that the pages named. */
      listed: v.number(),
      /** Who is reading the feed, where it was `held`. */
      by: v.exactOptional(v.string()),
      /** One of shared/domain/faults.ts, and what happened, where it ended in a `fault`. */
      fault: v.exactOptional(v.string()),
      reason: v.exactOptional(v.string()),
    }),
  ),
  notPolled: v.array(
    v.object({
      partnerAccount: v.string(),
      reason: v.string(),
      /** When it is polled again by itself; ISO 8601, absent where a person has to act. */
      until: v.exactOptional(v.string()),
    }),
  ),
});
export type PollAnswer = v.InferOutput<typeof pollAnswer>;
