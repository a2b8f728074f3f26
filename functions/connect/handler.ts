import { randomUUID } from 'node:crypto';
import { dynamoDbClient, eventBridgeClient, secretsManagerClient } from '../../shared/aws/clients.ts';
import { createEventPublisher } from '../../shared/aws/event-publisher.ts';
import { createApplicationSecret, createTokenVault } from '../../shared/aws/secrets.ts';
import { createStore } from '../../shared/aws/store.ts';
import { bridgeNameOf, secretNamesOf } from '../../shared/contract/names.ts';
import { systemClock } from '../../shared/domain/clock.ts';
import { functionConfig } from '../../shared/runtime/config.ts';
import { refreshLimits } from '../../shared/runtime/limits.ts';
import { withRuntime } from '../../shared/runtime/middleware.ts';
import { observer } from '../../shared/runtime/observer.ts';
import { partnerClient } from '../../shared/runtime/partner.ts';
import { createAdvertHistories } from '../../shared/state/advert-histories.ts';
import { readBooks } from '../../shared/state/books.ts';
import { createFeedStates } from '../../shared/state/feed-states.ts';
import { createPartnerAccounts } from '../../shared/state/partner-accounts.ts';
import { answerConnect, createConnect } from './connect.ts';

const config = functionConfig('connect');
const secrets = secretsManagerClient();
const names = secretNamesOf(config.namePrefix);
const table = { client: dynamoDbClient(), name: config.feedStateTable };
const store = createStore({
  feedState: table,
  advertStatus: { client: table.client, name: config.advertStatusTable },
});
const stage = createConnect({
  accounts: createPartnerAccounts(store),
  feedStates: createFeedStates(store),
  vault: createTokenVault(secrets, names, config.partnerSecretPolicy, config.partnerSecretKey),
  applicationSecret: createApplicationSecret(secrets, names),
  advertHistories: createAdvertHistories(store),
  bookKeeper: { read: (name, generation) => readBooks(store, name, generation) },
  client: partnerClient(config, table),
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
