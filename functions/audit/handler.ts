import { randomUUID } from 'node:crypto';
import { createAdvertHistories } from '../../shared/aws/advert-histories.ts';
import { createAudits } from '../../shared/aws/audits.ts';
import { createChangedAdvertsQueue } from '../../shared/aws/changed-adverts-queue.ts';
import { dynamoDbClient, sqsClient } from '../../shared/aws/clients.ts';
import { createFeedStates } from '../../shared/aws/feed-states.ts';
import { createSettledAdverts } from '../../shared/aws/parking/settled-adverts.ts';
import { createPublishedAdverts } from '../../shared/aws/published-adverts.ts';
import { systemClock } from '../../shared/domain/clock.ts';
import { functionConfig } from '../../shared/runtime/config.ts';
import { withRuntime } from '../../shared/runtime/middleware.ts';
import { observer } from '../../shared/runtime/observer.ts';
import { partnerService } from '../../shared/runtime/partner.ts';
import { createDailyAudit } from './daily-audit.ts';

const config = functionConfig('audit');
const client = dynamoDbClient();
const feedState = { client, name: config.feedStateTable };
const advertStatus = { client, name: config.advertStatusTable };
const partner = partnerService(config, feedState);
const audit = createDailyAudit({
  accounts: partner.accounts,
  audits: createAudits(feedState, 'daily-audit'),
  histories: createAdvertHistories(advertStatus),
  publishedAdverts: createPublishedAdverts(advertStatus),
  adverts: partner,
  isSettled: createSettledAdverts(
    feedState,
    createChangedAdvertsQueue({ queue: { client: sqsClient(), url: config.queueUrl } }),
  ),
  poll: {
    feedStates: createFeedStates(feedState),
    reader: partner,
    clock: systemClock,
    newId: randomUUID,
    settings: config,
  },
  observer,
  sample: config.auditSample,
});
/** Only the deadline stops a run. */
const { signal } = new AbortController();

/** Continues the daily audit. */
export const handler = withRuntime('audit', (_event: unknown, { deadlineMs }) =>
  audit.run({ deadlineMs, signal }),
);
