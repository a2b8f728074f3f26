import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { expect, it, onTestFinished } from 'vitest';
import { createRefreshToken } from '../../../../functions/refresh-token/refresh-token.ts';
import { createApplicationSecret, createTokenVault } from '../../../../shared/aws/secrets.ts';
import { createStore } from '../../../../shared/aws/store.ts';
import { secretNames } from '../../../../shared/contract/names.ts';
import { Secret } from '../../../../shared/domain/secret.ts';
import { createBudgetStore } from '../../../../shared/state/budget.ts';
import { createPartnerAccounts } from '../../../../shared/state/partner-accounts.ts';
import { startDynamo } from '../../../helpers/aws/emulators.ts';
import { aReadersPolicy, fakeSecretsManager } from '../../../helpers/aws/fake-secrets-manager.ts';
import { createFakeService } from '../../../helpers/fake-service.ts';
import { createManualClock } from '../../../helpers/manual-clock.ts';
import { createRecordingObserver } from '../../../helpers/recording-observer.ts';
import { partnerAccount, tokenPair } from '../../../helpers/records.ts';

const dayMs = 86_400_000;

/** What docs/operate/capacity.md says of calls: enough partner accounts to tell what is paid once from what is paid for each. */
it('a sweep over 25 expired accounts writes each secret once', async () => {
  const dynamo = await startDynamo();
  onTestFinished(() => dynamo.stop());
  const table = await dynamo.feedStateTable();
  const fake = fakeSecretsManager();
  fake.start();
  fake.set('advert-bridge/application', '{"clientId":"client","clientSecret":"hush"}');
  const secrets = new SecretsManagerClient({ region: 'eu-central-1' });
  const clock = createManualClock();
  const store = createStore({ feedState: table });
  const partnerAccounts = createPartnerAccounts(store);
  const pair = tokenPair({
    accessToken: new Secret('access-0'),
    expiresAt: clock.now() + dayMs,
    obtainedAt: clock.now(),
  });
  const vault = createTokenVault(secrets, secretNames, aReadersPolicy);
  for (let user = 0; user < 25; user += 1) {
    const name = `user-${user}`;
    const version = await vault.write(name, pair);
    const token = { version, expiresAt: pair.expiresAt, usedAt: clock.now() };
    await partnerAccounts.add(partnerAccount({ name, token }));
  }
  const commands: string[] = [];
  const count = <T>(next: T, { commandName = '' }) => {
    commands.push(commandName);
    return next;
  };
  table.client.middlewareStack.add(count, { step: 'initialize', name: 'counted' });
  fake.mock.resetHistory();
  let ids = 0;
  const { sweep } = createRefreshToken({
    ...{
      partnerAccounts,
      budgetStore: createBudgetStore(store),
      vault: createTokenVault(secrets, secretNames),
      clock,
      random: () => 0.5,
      newId: () => `id-${++ids}`,
    },
    observer: createRecordingObserver(),
    applicationSecret: createApplicationSecret(secrets, secretNames),
    client: createFakeService(clock),
    events: { publish: async () => undefined },
    settings: { bridge: 'AdvertBridge', requiredScope: 'v2 read write' },
  });

  clock.advance(dayMs);
  await sweep({ deadlineMs: clock.now() + 57_000 });

  commands.push(...fake.mock.calls().map(({ args }) => args[0].constructor.name));
  const calls = Object.groupBy(commands, (command) => command.replace('Command', ''));
  expect(Object.fromEntries(Object.entries(calls).map(([name, all = []]) => [name, all.length]))).toEqual({
    Query: 1,
    // The application's secret, and the pair.
    GetSecretValue: 2 * 25,
    PutSecretValue: 25,
    // The row for the lock, before the pair is stored, for the verdict, for the lock again; the bridge's before and after.
    GetItem: 6 * 25,
    PutItem: 3 * 25,
  });
});
