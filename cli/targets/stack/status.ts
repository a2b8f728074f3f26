import type { StatusPorts } from '../../../operations/status.ts';
import { createBookKeeper } from '../../../shared/aws/books.ts';
import { createBudgetStore } from '../../../shared/aws/budget-store.ts';
import { createFeedStates } from '../../../shared/aws/feed-states.ts';
import { createPartnerAccounts } from '../../../shared/aws/partner-accounts.ts';
import type { StackBridge } from './bridge.ts';

export const stackStatusPorts = ({ feedStateTable: table, ...queues }: StackBridge): StatusPorts => ({
  partnerAccounts: createPartnerAccounts(table),
  feedStates: createFeedStates(table),
  budgetStore: createBudgetStore(table),
  bookKeeper: createBookKeeper({ table, ...queues }),
});
