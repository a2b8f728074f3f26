import { afterAll, beforeAll } from 'vitest';
import { createAdvertHistories } from '../../shared/aws/advert-histories.ts';
import { createAudits } from '../../shared/aws/audits.ts';
import { readBooks } from '../../shared/aws/books.ts';
import { createBudgetStore } from '../../shared/aws/budget-store.ts';
import { createFeedStates } from '../../shared/aws/feed-states.ts';
import { createPartnerAccounts } from '../../shared/aws/partner-accounts.ts';
import { createPublishedAdverts } from '../../shared/aws/published-adverts.ts';
import { createStore } from '../../shared/aws/store.ts';
import { startDynamo } from '../helpers/aws/emulators.ts';
import { advertHistoriesSuite, publishedAdvertsSuite } from './advert-histories.suite.ts';
import { auditsSuite } from './audits.suite.ts';
import { budgetStoreSuite } from './budget-store.suite.ts';
import { feedStatesSuite } from './feed-states.suite.ts';
import { partnerAccountsSuite } from './partner-accounts.suite.ts';
import { storeSuite } from './store.suite.ts';

const name = 'DynamoDB (dynalite)';
let dynamo: Awaited<ReturnType<typeof startDynamo>>;

beforeAll(async () => {
  dynamo = await startDynamo();
});
afterAll(() => dynamo.stop());

storeSuite(name, async () => {
  // Kinds are apart by their partition key, so one table may stand for both.
  const table = await dynamo.feedStateTable();
  return { store: createStore({ feedState: table, advertStatus: table }) };
});
feedStatesSuite(name, async () => ({ feedStates: createFeedStates(await dynamo.feedStateTable()) }));
partnerAccountsSuite(name, async () => ({
  partnerAccounts: createPartnerAccounts(await dynamo.feedStateTable()),
}));
advertHistoriesSuite(name, async () => ({
  advertHistories: createAdvertHistories(await dynamo.advertStatusTable()),
}));
publishedAdvertsSuite(name, { adverts: 30, envelope: 50_000 }, async () => {
  const table = await dynamo.advertStatusTable();
  return { advertHistories: createAdvertHistories(table), publishedAdverts: createPublishedAdverts(table) };
});
auditsSuite(name, true, async () => {
  const table = await dynamo.feedStateTable();
  return { audits: createAudits(table), bookKeeper: { read: (...which) => readBooks(table, ...which) } };
});
budgetStoreSuite(name, async () => ({ budgetStore: createBudgetStore(await dynamo.feedStateTable()) }));

// Two functions that know nothing of each other: each change is reckoned from a state that may be outdated.
budgetStoreSuite(`${name}, two processes`, async () => {
  const table = await dynamo.feedStateTable();
  const stores = [createBudgetStore(table), createBudgetStore(table)];
  function next() {
    const store = stores.shift() ?? createBudgetStore(table);
    stores.push(store);
    return store;
  }
  return {
    budgetStore: {
      read: () => next().read(),
      reserve: (request) => next().reserve(request),
      pause: (untilMs, reason) => next().pause(untilMs, reason),
      suspect: (resource) => next().suspect(resource),
      recover: () => next().recover(),
      setOperatorPause: (pause) => next().setOperatorPause(pause),
      endPause: () => next().endPause(),
    },
  };
});
