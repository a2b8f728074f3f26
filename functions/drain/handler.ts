import { randomUUID } from 'node:crypto';
import * as v from 'valibot';
import { sqsClient } from '../../shared/aws/clients.ts';
import { createQueueShares } from '../../shared/aws/queue-shares.ts';
import { createChangedAdvertsQueue } from '../../shared/aws/sqs.ts';
import { pollEvent } from '../../shared/contract/invocations.ts';
import { systemClock } from '../../shared/domain/clock.ts';
import { functionConfig } from '../runtime/config.ts';
import { functionState, partnerService } from '../runtime/deps.ts';
import { askedPollMs, drainLimits, scheduleMs } from '../runtime/limits.ts';
import { withRuntime } from '../runtime/middleware.ts';
import { observer } from '../runtime/observer.ts';
import { createAuditShare } from './audit-share.ts';
import { createDrain, pollAnswerOf } from './drain.ts';

const config = functionConfig('drain');
const state = functionState(config);
const partner = partnerService(config, state);
const { partnerAccounts } = partner;

const deps = {
  ...state,
  partnerAccounts,
  reader: partner,
  observer,
  clock: systemClock,
  newId: randomUUID,
  queue: createChangedAdvertsQueue({
    queue: { client: sqsClient(), url: config.queueUrl },
    shares: createQueueShares({ ...config, wholeFrom: drainLimits.wholeFrom, clock: systemClock }),
  }),
  holder: `drain ${randomUUID()}`,
  settings: { ...config, ...drainLimits },
};
const drain = createDrain({
  ...deps,
  ...(config.auditSample > 0 && { sendAuditShare: createAuditShare(deps) }),
});

/** Polls the due feeds: again and again for the schedule's or any unknown event, once for an operator's `poll`. */
export const handler = withRuntime('drain', async (event: unknown, { deadlineMs }) => {
  const now = systemClock.now();
  if (!v.is(pollEvent, event)) return drain.run({ deadlineMs, nextRunMs: now + scheduleMs });
  const { partnerAccount: only } = event;
  const untilMs = Math.min(deadlineMs, now + askedPollMs);
  return pollAnswerOf(await drain.round({ deadlineMs: untilMs, ...(only !== undefined && { only }) }));
});
