import { afterAll, beforeAll } from 'vitest';
import { createAdvertHistories } from '../../shared/aws/advert-histories.ts';
import { createFeedStates } from '../../shared/aws/feed-states.ts';
import { createPublishedAdverts } from '../../shared/aws/published-adverts.ts';
import { createStore } from '../../shared/aws/store.ts';
import { startDynamo } from '../helpers/aws/emulators.ts';
import { advertHistoriesSuite, publishedAdvertsSuite } from './advert-histories.suite.ts';
import { feedStatesSuite } from './feed-states.suite.ts';
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
advertHistoriesSuite(name, async () => ({
  advertHistories: createAdvertHistories(await dynamo.advertStatusTable()),
}));
publishedAdvertsSuite(name, { adverts: 30, envelope: 50_000 }, async () => {
  const table = await dynamo.advertStatusTable();
  return { advertHistories: createAdvertHistories(table), publishedAdverts: createPublishedAdverts(table) };
});
