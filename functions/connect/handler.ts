import { randomUUID } from 'node:crypto';
import { eventBridgeClient, secretsManagerClient } from '../../shared/aws/clients.ts';
import { createEventPublisher } from '../../shared/aws/event-publisher.ts';
import { createApplicationSecret, createTokenVault } from '../../shared/aws/secrets.ts';
import { bridgeNameOf, secretNamesOf } from '../../shared/contract/names.ts';
import { systemClock } from '../../shared/domain/clock.ts';
import { functionConfig } from '../../shared/runtime/config.ts';
import { refreshLimits } from '../../shared/runtime/limits.ts';
import { withRuntime } from '../../shared/runtime/middleware.ts';
import { observer } from '../../shared/runtime/observer.ts';
import { partnerClient } from '../../shared/runtime/partner.ts';
import { stateOf } from '../../shared/runtime/state.ts';
import { readBooks } from '../../shared/state/books.ts';
import { answerConnect, createConnect } from './connect.ts';

const config = functionConfig('connect');
const secrets = secretsManagerClient();
const names = secretNamesOf(config.namePrefix);
const state = stateOf(config);
const stage = createConnect({
  ...state,
  accounts: state.partnerAccounts,
  vault: createTokenVault(secrets, names, config.partnerSecretPolicy, config.partnerSecretKey),
  applicationSecret: createApplicationSecret(secrets, names),
  bookKeeper: { read: (name, generation) => readBooks(state.store, name, generation) },
  client: partnerClient(config, state),
  events: createEventPublisher({ client: eventBridgeClient(), busName: config.eventBusName }),
  observer,
  clock: systemClock,
  newId: randomUUID,
  settings: { ...config, ...refreshLimits, bridge: bridgeNameOf(config.namePrefix) },
});

/** Carries out operators' commands for the application and for partner accounts. */
export const handler = withRuntime('connect', (event: unknown, options) =>
  answerConnect(stage, event, options),
);
