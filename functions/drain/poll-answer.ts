import type { PollAnswer } from '../../shared/contract/invocations.ts';
import { toInstant } from '../../shared/domain/clock.ts';
import type { DrainReport } from './drain.ts';

/** The result of a round of polls, in the form returned to the caller. */
export const pollAnswerOf = ({ polls, stopped, paused }: DrainReport): PollAnswer => ({
  polls: polls.map((poll) => {
    const { partnerAccount, feed, end, pages, listed } = poll;
    return {
      ...{ partnerAccount, feed, end, pages, listed },
      ...(poll.end === 'held' && { by: poll.by }),
      ...(poll.end === 'fault' && { fault: poll.fault.code, reason: poll.fault.message }),
    };
  }),
  notPolled: [
    ...stopped.map((partnerAccount) => ({
      partnerAccount,
      reason: 'stopped: its user has to authorize again',
    })),
    ...paused.map(({ partnerAccount, reason, untilMs }) => ({
      ...{ partnerAccount, reason },
      ...(Number.isFinite(untilMs) && { until: toInstant(untilMs) }),
    })),
  ],
});
