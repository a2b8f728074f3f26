import {
  CreateSecretCommand,
  DeleteSecretCommand,
  GetSecretValueCommand,
  PutResourcePolicyCommand,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { beforeEach, expect, it } from 'vitest';
import { createTokenVault } from '../../../../shared/aws/secrets.ts';
import { secretNames } from '../../../../shared/contract/names.ts';
import { aReadersPolicy, fakeSecretsManager } from '../../../helpers/aws/fake-secrets-manager.ts';
import { tokenPair } from '../../../helpers/records.ts';

const fake = fakeSecretsManager();
const client = new SecretsManagerClient({});
const vault = createTokenVault(client, secretNames, aReadersPolicy);
const name = 'advert-bridge/partner-accounts/main';
const pair = tokenPair();
const asked = () => fake.mock.calls().map(({ args: [command] }) => command.constructor.name.slice(0, -7));

beforeEach(() => fake.start());

it('a new secret has its readers set before its value', async () => {
  await vault.write('main', pair);
  expect(asked()).toEqual([
    'PutResourcePolicy',
    'DescribeSecret',
    'CreateSecret',
    'PutResourcePolicy',
    'PutSecretValue',
  ]);
  expect(fake.mock.commandCalls(CreateSecretCommand)[0]?.args[0].input).toEqual({ Name: name });
  expect(fake.mock.commandCalls(PutResourcePolicyCommand).at(-1)?.args[0].input).toEqual({
    SecretId: name,
    ResourcePolicy: aReadersPolicy,
    BlockPublicPolicy: true,
  });
});

it('a new secret has the tags that the stack gave the application’s', async () => {
  fake.set(secretNames.application);
  await vault.write('main', pair);
  expect(fake.tagsOf(name)).toEqual([{ Key: 'application', Value: 'advert-bridge' }]);
});

it('the policy of a secret is set anew when an account is connected again', async () => {
  await createTokenVault(client, secretNames, '{"of":"an older stack"}').write('main', pair);
  await vault.write('main', pair);
  expect(fake.policyOf(name)).toBe(aReadersPolicy);
});

it('a removed secret is restored when its account is connected again', async () => {
  await vault.write('main', pair);
  await vault.remove('main');
  const [removal] = fake.mock.commandCalls(DeleteSecretCommand);
  expect(removal?.args[0].input).toEqual({ SecretId: name, RecoveryWindowInDays: 7 });
  fake.mock.resetHistory();

  await vault.write('main', pair);

  expect(asked()).toEqual(['PutResourcePolicy', 'RestoreSecret', 'PutResourcePolicy', 'PutSecretValue']);
  await vault.remove('main');
  await vault.remove('main');
});

it('a known secret without a policy is written in one call', async () => {
  const updater = createTokenVault(client, secretNames);
  await expect(updater.write('main', pair)).rejects.toThrow('no such secret');
  await vault.write('main', pair);
  fake.mock.resetHistory();
  await updater.write('main', pair);
  expect(asked()).toEqual(['PutSecretValue']);
  await vault.remove('main');
  await expect(updater.write('main', pair)).rejects.toThrow('marked for deletion');
  expect(await updater.read('main')).toBeUndefined();
});

it('faults of Secrets Manager itself are passed on', async () => {
  const fault = new Error('no route');
  for (const command of [PutResourcePolicyCommand, GetSecretValueCommand, DeleteSecretCommand] as const)
    fake.mock.on(command as typeof GetSecretValueCommand).rejects(fault);
  for (const call of [vault.write('main', pair), vault.read('main'), vault.remove('main')])
    await expect(call).rejects.toBe(fault);
});
