import { createFeedStates } from '../../../shared/aws/feed-states.ts';
import { createStore } from '../../../shared/aws/store.ts';
import { feedStatesSuite } from '../../ports/feed-states.suite.ts';
import { storeSuite } from '../../ports/store.suite.ts';
import { anAwsAccount } from './account.ts';

const name = 'DynamoDB (MiniStack)';

storeSuite(name, async () => {
  const { feedStateTable, cleanUp } = anAwsAccount();
  const table = await feedStateTable();
  return { store: createStore({ feedState: table, advertStatus: table }), cleanUp };
});
feedStatesSuite(name, async () => {
  const { feedStateTable, cleanUp } = anAwsAccount();
  return { feedStates: createFeedStates(await feedStateTable()), cleanUp };
});
