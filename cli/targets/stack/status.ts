import { readStackState } from '../../../operations/stack-state.ts';
import type { StatusPorts } from '../../../operations/status.ts';
import { createBookKeeper } from '../../../shared/aws/books.ts';
import { createBudgetStore } from '../../../shared/aws/budget-store.ts';
import { createFeedStates } from '../../../shared/aws/feed-states.ts';
import { createPartnerAccounts } from '../../../shared/aws/partner-accounts.ts';
import type { StackBridge } from './bridge.ts';

export function stackStatusPorts(bridge: StackBridge): StatusPorts {
  const { feedStateTable: table, queue, deadLetterQueue, outputs, clients, name } = bridge;
  const places = { bridge: name, outputs, lambda: clients.lambda };
  return {
    partnerAccounts: createPartnerAccounts(table),
    feedStates: createFeedStates(table),
    budgetStore: createBudgetStore(table),
    bookKeeper: createBookKeeper({ table, queue, deadLetterQueue }),
    stack: { version: outputs.version, read: (nowMs) => readStackState(places, nowMs) },
  };
}
