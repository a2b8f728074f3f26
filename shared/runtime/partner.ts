import { createBudgetStore } from '../aws/budget-store.ts';
import { lambdaClient, secretsManagerClient } from '../aws/clients.ts';
import type { Table } from '../aws/dynamodb/conditional-write.ts';
import { createRefreshRequester } from '../aws/refresh-requester.ts';
import { createTokenReader } from '../aws/token-vault.ts';
import type { FunctionEnvironment } from '../contract/environment.ts';
import { systemClock } from '../domain/clock.ts';
import { createPartnerClient } from '../partner-api/client.ts';
import { createRateLimiter } from '../partner-api/rate-limit/rate-limiter.ts';
import { createPartnerReaders } from '../partner-api/readers.ts';
import type { ViewedAccounts } from '../partner-api/tokens/account-views.ts';
import { createTokenSource } from '../partner-api/tokens/token-source.ts';
import { partnerConnections } from './limits.ts';
import { observer } from './observer.ts';

const edges = { clock: systemClock, random: Math.random };

/** The client of the partner service, behind the rate budget that all functions share; also its token endpoint. */
export function partnerClient(
  config: FunctionEnvironment<'drain' | 'fanOut' | 'refreshToken' | 'connect'>,
  table: Table,
) {
  const { partnerBaseUrl, acceptLanguage, maxRequestsPerSecond, circuitSeconds, maxPauseSeconds } = config;
  const rateLimiter = createRateLimiter({
    ...edges,
    store: createBudgetStore(table),
    observer,
    maxRequestsPerSecond,
    circuitSeconds,
  });
  return createPartnerClient({
    ...edges,
    baseUrl: partnerBaseUrl,
    acceptLanguage,
    concurrency: partnerConnections,
    rateLimiter,
    observer,
    maxPauseSeconds,
  });
}

/** What drain and fan-out read of the partner service; tokens are refreshed by the function whose work that is. */
export function partnerReaders(
  config: FunctionEnvironment<'drain' | 'fanOut'>,
  table: Table,
  accounts: ViewedAccounts,
) {
  const tokens = createTokenSource({
    reader: createTokenReader(secretsManagerClient()),
    requester: createRefreshRequester({
      client: lambdaClient(),
      functionName: config.refreshTokenFunction,
    }),
    accounts,
    clock: systemClock,
  });
  return createPartnerReaders({ client: partnerClient(config, table), tokens });
}
