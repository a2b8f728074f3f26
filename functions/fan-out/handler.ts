import type { SQSEvent } from 'aws-lambda';
import { dynamoDbClient, eventBridgeClient, sqsClient } from '../../shared/aws/clients.ts';
import { createEventPublisher } from '../../shared/aws/event-publisher.ts';
import { createBatchSettler } from '../../shared/aws/settler.ts';
import { deliveryOf } from '../../shared/aws/sqs.ts';
import { createStore } from '../../shared/aws/store.ts';
import { bridgeNameOf } from '../../shared/contract/names.ts';
import { systemClock } from '../../shared/domain/clock.ts';
import { functionConfig } from '../../shared/runtime/config.ts';
import { fanOutLimits } from '../../shared/runtime/limits.ts';
import { withRuntime } from '../../shared/runtime/middleware.ts';
import { observer } from '../../shared/runtime/observer.ts';
import { partnerService } from '../../shared/runtime/partner.ts';
import { createAdvertHistories } from '../../shared/state/advert-histories.ts';
import { createAside } from '../../shared/state/aside.ts';
import { createBooksWriter } from '../../shared/state/books.ts';
import { createBudgetStore, heldUntil } from '../../shared/state/budget.ts';
import { createFanOut } from './fan-out.ts';

const config = functionConfig('fanOut');
const dynamoDb = dynamoDbClient();
const sqs = sqsClient();
const table = { client: dynamoDb, name: config.feedStateTable };
const queue = { client: sqs, url: config.queueUrl };
const partner = partnerService(config, table, { isTimed: true });
const store = createStore({
  feedState: table,
  advertStatus: { client: dynamoDb, name: config.advertStatusTable },
});
const budget = createBudgetStore(store);
const fanOut = createFanOut({
  accounts: partner.accounts,
  histories: createAdvertHistories(store),
  adverts: partner,
  answers: partner.answers,
  events: createEventPublisher({ client: eventBridgeClient(), busName: config.eventBusName }),
  bridgePausedUntil: async () => heldUntil(await budget.read(), systemClock.now()),
  observer,
  clock: systemClock,
  random: Math.random,
  settings: { ...config, ...fanOutLimits, bridge: bridgeNameOf(config.namePrefix) },
});
const settle = createBatchSettler({
  queue,
  books: createBooksWriter(store),
  aside: createAside(store),
  observer,
});

/** Publishes the changes of the adverts in one batch; unsettled messages return to the queue. */
export const handler = withRuntime('fan-out', async ({ Records: records }: SQSEvent, { deadlineMs }) => {
  const receivedAt = systemClock.now();
  const settlements = await fanOut.handle(records.map(deliveryOf), { deadlineMs });
  return settle({ records, settlements, receivedAt });
});
