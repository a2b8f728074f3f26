import { lambdaClient, secretsManagerClient } from '../aws/clients.ts';
import { createRefreshRequester } from '../aws/refresh-requester.ts';
import { createTokenVault } from '../aws/secrets.ts';
import { createStore, type Table } from '../aws/store.ts';
import type { FunctionConfig, FunctionName } from '../contract/environment.ts';
import { secretNamesOf } from '../contract/names.ts';
import { systemClock } from '../domain/clock.ts';
import { createPartnerClient } from '../partner-api/client.ts';
import { createPartnerService } from '../partner-api/partner-service.ts';
import { createActivityStore, createAnswers } from '../state/activity.ts';
import { createBudgetStore } from '../state/budget.ts';
import { createPartnerAccounts } from '../state/partner-accounts.ts';
import { partnerConnections, storeAnswersMs } from './limits.ts';
import { observer, telemetry } from './observer.ts';

function clientOptions(config: FunctionConfig<FunctionName>, table: Table, isTimed: boolean) {
  const store = createStore({ feedState: table });
  const { maxRequestsPerSecond, partnerBaseUrl: baseUrl } = config;
  const activity = createActivityStore(store);
  const timing = { clock: systemClock, isTimed, storeEveryMs: storeAnswersMs };
  const answers = createAnswers({ activity, maxRequestsPerSecond, observer, ...timing });
  telemetry.atEnd.push(answers.store);
  const budgetStore = createBudgetStore(store);
  return { baseUrl, settings: config, budgetStore, observer, answers, concurrency: partnerConnections };
}

/** For a function that has its own tokens. */
export const partnerClient = (config: FunctionConfig<'refreshToken' | 'connect'>, table: Table) =>
  createPartnerClient(clientOptions(config, table, false));

/**
 * For drain and fan-out, which request new tokens from the refresh-token function.
 *
 * @param isTimed whether the latency of answers is a metric
 */
export function partnerService(
  config: FunctionConfig<'drain' | 'fanOut'>,
  table: Table,
  { isTimed }: { readonly isTimed: boolean },
) {
  const options = clientOptions(config, table, isTimed);
  const invoked = { client: lambdaClient(), functionName: config.refreshTokenFunction };
  const service = createPartnerService({
    ...options,
    accounts: createPartnerAccounts(createStore({ feedState: table })),
    tokenReader: createTokenVault(secretsManagerClient(), secretNamesOf(config.namePrefix)),
    requester: createRefreshRequester(invoked),
  });
  return { ...service, answers: options.answers };
}
