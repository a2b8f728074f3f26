import { afterAll, beforeAll } from 'vitest';
import { createStore } from '../../shared/aws/store.ts';
import { startDynamo } from '../helpers/aws/emulators.ts';
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
