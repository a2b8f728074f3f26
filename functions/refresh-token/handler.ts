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
import { answerRefreshToken, createRefreshToken } from './refresh-token.ts';

const config = functionConfig('refreshToken');
const secrets = secretsManagerClient();
const names = secretNamesOf(config.namePrefix);
const state = stateOf(config);
const stage = createRefreshToken({
  accounts: state.partnerAccounts,
  vault: createTokenVault(secrets, names),
  applicationSecret: createApplicationSecret(secrets, names),
  client: partnerClient(config, state),
  events: createEventPublisher({ client: eventBridgeClient(), busName: config.eventBusName }),
  observer,
  clock: systemClock,
  newId: randomUUID,
  settings: { ...config, ...refreshLimits, bridge: bridgeNameOf(config.namePrefix) },
});

/** Sweeps on schedule, and refreshes a partner account's token on request of drain or fan-out; nothing else. */
export const handler = withRuntime('refresh-token', (event: unknown, options) =>
  answerRefreshToken(stage, event, options),
);
