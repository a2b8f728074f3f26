import { dynamoDbClient } from '../aws/clients.ts';
import { createStore } from '../aws/store.ts';
import { rowPorts } from '../state/row-ports.ts';

/** What a function remembers, in the tables that it may use. */
export function stateOf(config: { readonly feedStateTable: string; readonly advertStatusTable?: string }) {
  const { feedStateTable, advertStatusTable } = config;
  const client = dynamoDbClient();
  const store = createStore({
    feedState: { client, name: feedStateTable },
    ...(advertStatusTable !== undefined && { advertStatus: { client, name: advertStatusTable } }),
  });
  return { store, ...rowPorts(store) };
}

export type FunctionState = ReturnType<typeof stateOf>;
