import { randomUUID } from 'node:crypto';
import * as v from 'valibot';
import { dynamoDbClient, sqsClient } from '../../shared/aws/clients.ts';
import { createChangedAdvertsQueue } from '../../shared/aws/sqs.ts';
import { createStore } from '../../shared/aws/store.ts';
import { pollEvent } from '../../shared/contract/invocations.ts';
import { systemClock } from '../../shared/domain/clock.ts';
import { functionConfig } from '../../shared/runtime/config.ts';
import { askedPollMs, drainLimits, scheduleMs } from '../../shared/runtime/limits.ts';
import { withRuntime } from '../../shared/runtime/middleware.ts';
import { observer } from '../../shared/runtime/observer.ts';
import { partnerService } from '../../shared/runtime/partner.ts';
import { createAdvertHistories } from '../../shared/state/advert-histories.ts';
import { createAside, createDeadLetters } from '../../shared/state/aside.ts';
import { readBooks } from '../../shared/state/books.ts';
import { createBudgetStore, heldUntil } from '../../shared/state/budget.ts';
import { createFeedStates } from '../../shared/state/feed-states.ts';
import { createProgress } from '../../shared/state/progress.ts';
import { createAuditShare } from './audit-share.ts';
import { createDrain, pollAnswerOf } from './drain.ts';

const config = functionConfig('drain');
const sqs = sqsClient();
const table = { client: dynamoDbClient(), name: config.feedStateTable };
const queue = { client: sqs, url: config.queueUrl };
const partner = partnerService(config, table, { isTimed: false });
const { accounts } = partner;
const store = createStore({ feedState: table, advertStatus: { ...table, name: config.advertStatusTable } });
const budget = createBudgetStore(store);
const generationOf = async (name: string) => (await accounts.read(name))?.generation;
const inFlightOf = async (name: string) =>
  (await readBooks(store, name, (await generationOf(name)) ?? 0)).inFlight;

const enqueuing = {
  queue: createChangedAdvertsQueue({ queue, accountDepth: { from: drainLimits.fewWaiting, inFlightOf } }),
  deadLetters: createDeadLetters(store),
  observer,
  clock: systemClock,
  newId: randomUUID,
};
const drain = createDrain({
  ...enqueuing,
  accounts,
  feedStates: createFeedStates(store),
  reader: partner,
  aside: createAside(store, ({ message }) =>
    observer.warn('a message aside cannot be read', { reason: message }),
  ),
  bridgePausedUntil: async () => heldUntil(await budget.read(), systemClock.now()),
  ...(config.auditSample > 0 && {
    sendAuditShare: createAuditShare({
      ...enqueuing,
      publishedAdverts: createAdvertHistories(store),
      shares: createProgress(store, 'audit-share'),
      settings: config,
    }),
  }),
  holder: `drain ${randomUUID()}`,
  settings: { ...config, ...drainLimits },
});

/** Polls the due feeds: again and again for the schedule's or any unknown event, once for an operator's `poll`. */
export const handler = withRuntime('drain', async (event: unknown, { deadlineMs }) => {
  const now = systemClock.now();
  if (!v.is(pollEvent, event)) return drain.run({ deadlineMs, nextRunMs: now + scheduleMs });
  const { partnerAccount: only } = event;
  const untilMs = Math.min(deadlineMs, now + askedPollMs);
  return pollAnswerOf(await drain.round({ deadlineMs: untilMs, ...(only !== undefined && { only }) }));
});
