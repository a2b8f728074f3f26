/** What the handlers of the functions have in common: their state, and the partner service. */
import { randomUUID } from 'node:crypto';
import {
  customBusClient,
  dynamoDbClient,
  eventBridgeClient,
  lambdaClient,
  secretsManagerClient,
} from '../../shared/aws/clients.ts';
import { customEventBus } from '../../shared/aws/custom-event-bus.ts';
import { classicEventBus, createEventPublisher } from '../../shared/aws/event-publisher.ts';
import { createRefreshRequester } from '../../shared/aws/refresh-requester.ts';
import { createApplicationSecret, createTokenVault } from '../../shared/aws/secrets.ts';
import { createStore } from '../../shared/aws/store.ts';
import type { FunctionConfig, FunctionName } from '../../shared/contract/environment.ts';
import { bridgeNameOf, secretNamesOf } from '../../shared/contract/names.ts';
import { systemClock } from '../../shared/domain/clock.ts';
import { createPartnerClient } from '../../shared/partner-api/client.ts';
import { createPartnerService } from '../../shared/partner-api/partner-service.ts';
import { type EventPublisher, onEach } from '../../shared/ports/event-publisher.ts';
import { createAnswers } from '../../shared/state/activity.ts';
import { rowPorts } from '../../shared/state/row-ports.ts';
import { partnerConnections, storeAnswersMs } from './limits.ts';
import { observer, telemetry } from './observer.ts';

type FunctionState = ReturnType<typeof functionState>;

/** What a function remembers, in the tables that it may use. */
export function functionState(config: {
  readonly feedStateTable: string;
  readonly advertStatusTable?: string;
}) {
  const { feedStateTable, advertStatusTable } = config;
  const client = dynamoDbClient();
  const store = createStore({
    feedState: { client, name: feedStateTable },
    ...(advertStatusTable !== undefined && { advertStatus: { client, name: advertStatusTable } }),
  });
  return { store, ...rowPorts(store) };
}

function clientOptions(config: FunctionConfig<FunctionName>, state: FunctionState) {
  const { activity, budgetStore } = state;
  const { maxRequestsPerSecond, partnerBaseUrl: baseUrl } = config;
  const timing = { clock: systemClock, storeEveryMs: storeAnswersMs };
  const answers = createAnswers({ activity, maxRequestsPerSecond, observer, ...timing });
  telemetry.atEnd.push(answers.store);
  return { baseUrl, settings: config, budgetStore, observer, answers, concurrency: partnerConnections };
}

/** The buses of the bridge. @throws {Error} if there is none: every event would count as published */
export function eventBuses({
  eventBusName,
  customEventBusArn,
}: Pick<FunctionConfig<'fanOut'>, 'eventBusName' | 'customEventBusArn'>): EventPublisher {
  const buses: EventPublisher[] = [];
  if (eventBusName !== undefined)
    buses.push(createEventPublisher(classicEventBus(eventBridgeClient(), eventBusName)));
  if (customEventBusArn !== undefined)
    buses.push(createEventPublisher(customEventBus(customBusClient(), customEventBusArn)));
  if (buses.length === 0) throw new Error('the environment names no event bus');
  return onEach(buses);
}

/** The dependencies of the functions that store tokens. @param newSecret policy and key of the secrets that the function may create */
export function tokenDeps(
  config: FunctionConfig<'refreshToken' | 'connect'>,
  ...newSecret: [policy?: string, key?: string]
) {
  const state = functionState(config);
  const secrets = secretsManagerClient();
  const names = secretNamesOf(config.namePrefix);
  return {
    ...state,
    vault: createTokenVault(secrets, names, ...newSecret),
    applicationSecret: createApplicationSecret(secrets, names),
    client: createPartnerClient(clientOptions(config, state)),
    events: eventBuses(config),
    observer,
    clock: systemClock,
    newId: randomUUID,
    settings: { ...config, bridge: bridgeNameOf(config.namePrefix) },
  };
}

/** The client of the functions that ask refresh-token for new tokens. */
export function partnerService(config: FunctionConfig<'drain' | 'fanOut'>, state: FunctionState) {
  const options = clientOptions(config, state);
  const invoked = { client: lambdaClient(), functionName: config.refreshTokenFunction };
  const service = createPartnerService({
    ...options,
    partnerAccounts: state.partnerAccounts,
    tokenReader: createTokenVault(secretsManagerClient(), secretNamesOf(config.namePrefix)),
    requester: createRefreshRequester(invoked),
  });
  return { ...service, answers: options.answers };
}
