import { dynamoDbClient } from '../aws/clients.ts';
import { createStore } from '../aws/store.ts';
import { systemClock } from '../domain/clock.ts';
import { heldUntil } from '../state/budget.ts';
import { rowPorts } from '../state/row-ports.ts';

/** What a function remembers, in the tables that it may use. */
export function stateOf(config: { readonly feedStateTable: string; readonly advertStatusTable?: string }) {
  const { feedStateTable, advertStatusTable } = config;
  const client = dynamoDbClient();
  const store = createStore({
    feedState: { client, name: feedStateTable },
    ...(advertStatusTable !== undefined && { advertStatus: { client, name: advertStatusTable } }),
  });
  const ports = rowPorts(store);
  const bridgePausedUntil = async () => heldUntil(await ports.budgetStore.read(), systemClock.now());
  return { store, ...ports, bridgePausedUntil };
}

export type FunctionState = ReturnType<typeof stateOf>;
