import { createStore } from '../../../shared/aws/store.ts';
import { storeSuite } from '../../ports/store.suite.ts';
import { anAwsAccount } from './account.ts';

const name = 'DynamoDB (MiniStack)';

storeSuite(name, async () => {
  const { feedStateTable, cleanUp } = anAwsAccount();
  const table = await feedStateTable();
  return { store: createStore({ feedState: table, advertStatus: table }), cleanUp };
});
