import { createAdvertHistories } from '../../../shared/aws/advert-histories.ts';
import { createBudgetStore } from '../../../shared/aws/budget-store.ts';
import { createFeedStates } from '../../../shared/aws/feed-states.ts';
import { createPartnerAccounts } from '../../../shared/aws/partner-accounts.ts';
import { createStore } from '../../../shared/aws/store.ts';
import { advertHistoriesSuite } from '../../ports/advert-histories.suite.ts';
import { budgetStoreSuite } from '../../ports/budget-store.suite.ts';
import { feedStatesSuite } from '../../ports/feed-states.suite.ts';
import { partnerAccountsSuite } from '../../ports/partner-accounts.suite.ts';
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
partnerAccountsSuite(name, async () => {
  const { feedStateTable, cleanUp } = anAwsAccount();
  return { partnerAccounts: createPartnerAccounts(await feedStateTable()), cleanUp };
});
advertHistoriesSuite(name, async () => {
  const { advertStatusTable, cleanUp } = anAwsAccount();
  return { advertHistories: createAdvertHistories(await advertStatusTable()), cleanUp };
});
budgetStoreSuite(name, async () => {
  const { feedStateTable, cleanUp } = anAwsAccount();
  return { budgetStore: createBudgetStore(await feedStateTable()), cleanUp };
});
