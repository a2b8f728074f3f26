import { lambdaClient, secretsManagerClient } from '../aws/clients.ts';
import type { Table } from '../aws/dynamodb/conditional-write.ts';
import { createRefreshRequester } from '../aws/refresh-requester.ts';
import { createStore } from '../aws/store.ts';
import { createTokenReader } from '../aws/token-vault.ts';
import type { FunctionConfig, FunctionName } from '../contract/environment.ts';
import { secretNamesOf } from '../contract/names.ts';
import { createLimitedClient, createPartnerService } from '../partner-api/partner-service.ts';
import { createBudgetStore } from '../state/budget.ts';
import { createPartnerAccounts } from '../state/partner-accounts.ts';
import { partnerConnections } from './limits.ts';
import { observer } from './observer.ts';

const clientOptions = (config: FunctionConfig<FunctionName>, table: Table) => ({
  baseUrl: config.partnerBaseUrl,
  settings: config,
  budgetStore: createBudgetStore(createStore({ feedState: table })),
  observer,
  concurrency: partnerConnections,
});

/** For a function that has its own tokens. */
export const partnerClient = (config: FunctionConfig<'refreshToken' | 'connect'>, table: Table) =>
  createLimitedClient(clientOptions(config, table));

/** For drain and fan-out, which request new tokens from the refresh-token function. */
export const partnerService = (config: FunctionConfig<'drain' | 'fanOut'>, table: Table) =>
  createPartnerService({
    ...clientOptions(config, table),
    accounts: createPartnerAccounts(createStore({ feedState: table })),
    tokenReader: createTokenReader(secretsManagerClient(), secretNamesOf(config.namePrefix)),
    requester: createRefreshRequester({
      client: lambdaClient(),
      functionName: config.refreshTokenFunction,
    }),
  });
