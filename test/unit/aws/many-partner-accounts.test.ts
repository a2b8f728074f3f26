import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRefreshToken } from '../../../functions/refresh-token/refresh-token.ts';
import {
  createApplicationSecret,
  createTokenUpdater,
  createTokenVault,
} from '../../../shared/aws/secrets.ts';
import { createStore } from '../../../shared/aws/store.ts';
import { secretNames } from '../../../shared/contract/names.ts';
import { refreshLimits } from '../../../shared/runtime/limits.ts';
import { createPartnerAccounts } from '../../../shared/state/partner-accounts.ts';
import { startDynamo } from '../../helpers/aws/emulators.ts';
import { aReadersPolicy, fakeSecretsManager } from '../../helpers/aws/fake-secrets-manager.ts';
import { createFakeService } from '../../helpers/fake-service.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';
import { createRecordingObserver } from '../../helpers/recording-observer.ts';
import { partnerAccount, tokenPair } from '../../helpers/records.ts';

/** Enough to tell what is paid once from what is paid for each. */
const all = Array.from({ length: 25 }, (_, index) => `user-${1000 + index}`);

type Counts = Record<string, number>;

/** What docs/operate/capacity.md says of calls: counted on the wire, adapters and use cases as the functions have them. */
describe('the calls of a sweep over 25 partner accounts', () => {
  const fake = fakeSecretsManager();
  let dynamo: Awaited<ReturnType<typeof startDynamo>>;
  let container: Awaited<ReturnType<typeof setUp>>;
  let calls: Counts = {};
  const count = (command: string) => {
    const name = command.replace('Command', '');
    calls[name] = (calls[name] ?? 0) + 1;
  };
  const counted = (dynamoDb: DynamoDBClient) => {
    const at = { step: 'initialize', name: 'counted' } as const;
    dynamoDb.middlewareStack.add((next, { commandName = '' }) => {
      count(commandName);
      return next;
    }, at);
  };

  beforeAll(async () => {
    dynamo = await startDynamo();
    container = await setUp();
  });
  afterAll(() => dynamo.stop());

  async function setUp() {
    const table = await dynamo.feedStateTable();
    counted(table.client);
    fake.start();
    fake.set('advert-bridge/application', '{"clientId":"client","clientSecret":"hush"}');
    const secrets = new SecretsManagerClient({ region: 'eu-central-1' });
    const clock = createManualClock();
    const service = createFakeService(clock);
    const observer = createRecordingObserver();
    const stored = createPartnerAccounts(createStore({ feedState: table }));
    const vault = createTokenVault(secrets, secretNames, aReadersPolicy);
    const dayMs = 86_400_000;
    const pair = tokenPair({ expiresAt: clock.now() + dayMs, obtainedAt: clock.now() });
    await Promise.all(
      all.map(async (name) => {
        const version = await vault.write(name, pair);
        const token = { version, expiresAt: pair.expiresAt, usedAt: clock.now() };
        await stored.add(partnerAccount({ name, token }));
      }),
    );
    const edges = { clock, random: () => 0.5 };
    let ids = 0;
    const newId = () => `id-${++ids}`;
    const refreshToken = createRefreshToken({
      ...{ accounts: stored, vault: createTokenUpdater(secrets, secretNames), observer, ...edges, newId },
      application: createApplicationSecret(secrets, secretNames),
      endpoint: service,
      events: { publish: async () => undefined },
      settings: { bridge: 'AdvertBridge', requiredScope: 'v2 read write', ...refreshLimits },
    });
    return { clock, refreshToken };
  }

  async function callsOf(work: () => Promise<unknown>): Promise<Counts> {
    calls = {};
    fake.mock.resetHistory();
    await work();
    for (const call of fake.mock.calls()) count(call.args[0].constructor.name);
    return calls;
  }
  const sweep = () => container.refreshToken.sweep({ deadlineMs: container.clock.now() + 57_000 });

  it('of a sweep that finds nothing to do: one query', async () => {
    expect(await callsOf(sweep)).toEqual({ Query: 1 });
  });

  it('of a sweep after all tokens ran out: the application once, each secret read and written once', async () => {
    container.clock.advance(86_400_000);
    expect(await callsOf(sweep)).toEqual({
      Query: 1,
      // The application's secret once, and each pair.
      GetSecretValue: 1 + 25,
      PutSecretValue: 25,
      // The row for the request, for the lock, before the request, for the verdict, for the lock again.
      GetItem: 5 * 25,
      PutItem: 3 * 25,
    });
    expect(await callsOf(sweep)).toEqual({ Query: 1 });
  });
});
