import { randomUUID } from 'node:crypto';
import { eventBridgeClient, lambdaClient, secretsManagerClient } from '../aws/clients.ts';
import { createEventPublisher } from '../aws/event-publisher.ts';
import { createRefreshRequester } from '../aws/refresh-requester.ts';
import { createApplicationSecret, createTokenVault } from '../aws/secrets.ts';
import type { FunctionConfig, FunctionName } from '../contract/environment.ts';
import { bridgeNameOf, secretNamesOf } from '../contract/names.ts';
import { systemClock } from '../domain/clock.ts';
import { createPartnerClient } from '../partner-api/client.ts';
import { createPartnerService } from '../partner-api/partner-service.ts';
import { createAnswers } from '../state/activity.ts';
import { partnerConnections, refreshLimits, storeAnswersMs } from './limits.ts';
import { observer, telemetry } from './observer.ts';
import type { FunctionState } from './state.ts';

function clientOptions(config: FunctionConfig<FunctionName>, state: FunctionState, isTimed: boolean) {
  const { activity, budgetStore } = state;
  const { maxRequestsPerSecond, partnerBaseUrl: baseUrl } = config;
  const timing = { clock: systemClock, isTimed, storeEveryMs: storeAnswersMs };
  const answers = createAnswers({ activity, maxRequestsPerSecond, observer, ...timing });
  telemetry.atEnd.push(answers.store);
  return { baseUrl, settings: config, budgetStore, observer, answers, concurrency: partnerConnections };
}

/**
 * What the functions that request and store tokens have in common.
 *
 * @param newSecret policy and key of the secrets that the function may create
 */
export function tokenDeps(
  config: FunctionConfig<'refreshToken' | 'connect'>,
  state: FunctionState,
  ...newSecret: [policy?: string, key?: string]
) {
  const secrets = secretsManagerClient();
  const names = secretNamesOf(config.namePrefix);
  return {
    accounts: state.partnerAccounts,
    vault: createTokenVault(secrets, names, ...newSecret),
    applicationSecret: createApplicationSecret(secrets, names),
    client: createPartnerClient(clientOptions(config, state, false)),
    events: createEventPublisher({ client: eventBridgeClient(), busName: config.eventBusName }),
    observer,
    clock: systemClock,
    newId: randomUUID,
    settings: { ...config, ...refreshLimits, bridge: bridgeNameOf(config.namePrefix) },
  };
}

/**
 * For drain and fan-out, which request new tokens from the refresh-token function.
 *
 * @param isTimed whether the latency of answers is a metric
 */
export function partnerService(
  config: FunctionConfig<'drain' | 'fanOut'>,
  state: FunctionState,
  { isTimed }: { readonly isTimed: boolean },
) {
  const options = clientOptions(config, state, isTimed);
  const invoked = { client: lambdaClient(), functionName: config.refreshTokenFunction };
  const service = createPartnerService({
    ...options,
    accounts: state.partnerAccounts,
    tokenReader: createTokenVault(secretsManagerClient(), secretNamesOf(config.namePrefix)),
    requester: createRefreshRequester(invoked),
  });
  return { ...service, answers: options.answers };
}
