import { createAdvertHistories } from '../../../shared/aws/advert-histories.ts';
import { createFeedStates } from '../../../shared/aws/feed-states.ts';
import { createStore } from '../../../shared/aws/store.ts';
import { advertHistoriesSuite } from '../../ports/advert-histories.suite.ts';
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
advertHistoriesSuite(name, async () => {
  const { advertStatusTable, cleanUp } = anAwsAccount();
  return { advertHistories: createAdvertHistories(await advertStatusTable()), cleanUp };
});
