import type { SQSEvent } from 'aws-lambda';
import { sqsClient } from '../../shared/aws/clients.ts';
import { createBatchSettler } from '../../shared/aws/settler.ts';
import { deliveryOf } from '../../shared/aws/sqs.ts';
import { bridgeNameOf } from '../../shared/contract/names.ts';
import { systemClock } from '../../shared/domain/clock.ts';
import { functionConfig } from '../runtime/config.ts';
import { eventBuses, functionState, partnerService } from '../runtime/deps.ts';
import { fanOutLimits } from '../runtime/limits.ts';
import { withRuntime } from '../runtime/middleware.ts';
import { observer } from '../runtime/observer.ts';
import { redeliveryLimits } from './advert.ts';
import { createFanOut } from './fan-out.ts';

const config = functionConfig('fanOut');
const state = functionState(config);
const partner = partnerService(config, state);
const fanOut = createFanOut({
  ...state,
  partnerAccounts: partner.partnerAccounts,
  adverts: partner,
  answers: partner.answers,
  events: eventBuses(config),
  observer,
  clock: systemClock,
  random: Math.random,
  settings: { ...config, ...fanOutLimits, ...redeliveryLimits, bridge: bridgeNameOf(config.namePrefix) },
});
const settle = createBatchSettler({
  queue: { client: sqsClient(), url: config.queueUrl },
  books: state.store,
  aside: state.aside,
  observer,
});

/** Publishes the changes of the adverts in one batch; unsettled messages return to the queue. */
export const handler = withRuntime('fan-out', async ({ Records: records }: SQSEvent, { deadlineMs }) => {
  const receivedAt = systemClock.now();
  const settlements = await fanOut.handle(records.map(deliveryOf), { deadlineMs });
  return settle({ records, settlements, receivedAt });
});
