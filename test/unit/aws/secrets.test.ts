import {
  CreateSecretCommand,
  DeleteSecretCommand,
  GetSecretValueCommand,
  PutResourcePolicyCommand,
  RestoreSecretCommand,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { beforeEach, describe, expect, it } from 'vitest';
import { createTokenUpdater, createTokenVault } from '../../../shared/aws/secrets.ts';
import { secretNames } from '../../../shared/contract/names.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import { aReadersPolicy, fakeSecretsManager } from '../../helpers/aws/fake-secrets-manager.ts';

const fake = fakeSecretsManager();
const client = new SecretsManagerClient({});
const vault = createTokenVault(client, secretNames, aReadersPolicy);
const name = 'advert-bridge/partner-accounts/main';
const pair = {
  accessToken: new Secret('access'),
  refreshToken: new Secret('refresh'),
  scope: 'v2 read write',
  expiresAt: 1_763_643_600_000,
  obtainedAt: 1_763_640_000_000,
  generation: 1_763_640_000,
};
const asked = () => fake.mock.calls().map(({ args: [command] }) => command.constructor.name);

beforeEach(() => fake.start());

describe('the token vault on Secrets Manager', () => {
  it('says who may read the secret of a new partner account before it puts a value into it', async () => {
    await vault.write('main', pair);
    expect(asked()).toEqual([
      'PutResourcePolicyCommand',
      'CreateSecretCommand',
      'PutResourcePolicyCommand',
      'PutSecretValueCommand',
    ]);
    expect(fake.mock.commandCalls(CreateSecretCommand)[0]?.args[0].input).toEqual({ Name: name });
    expect(fake.policyOf(name)).toBe(aReadersPolicy);
  });

  it('returns the version that Secrets Manager then has', async () => {
    expect((await vault.read('main'))?.version).toBeUndefined();
    const version = await vault.write('main', pair);
    expect((await vault.read('main'))?.version).toBe(version);
  });

  it('puts the policy anew for a partner account that is connected again', async () => {
    await createTokenVault(client, secretNames, '{"of":"an older stack"}').write('main', pair);
    fake.mock.resetHistory();
    await vault.write('main', pair);
    expect(asked()).toEqual(['PutResourcePolicyCommand', 'PutSecretValueCommand']);
    expect(fake.policyOf(name)).toBe(aReadersPolicy);
  });

  it('has the name free again at once after a removal, and under a policy', async () => {
    await vault.write('main', pair);
    await vault.remove('main');
    expect(await vault.read('main')).toBeUndefined();
    const [removal] = fake.mock.commandCalls(DeleteSecretCommand);
    expect(removal?.args[0].input).toEqual({ SecretId: name, RecoveryWindowInDays: 7 });

    const version = await vault.write('main', pair);

    expect(fake.mock.commandCalls(RestoreSecretCommand)).toHaveLength(1);
    expect((await vault.read('main'))?.version).toBe(version);
    await vault.remove('main');
    await vault.remove('main');
  });

  it('never asks for a value: connecting needs none', async () => {
    await vault.write('main', pair);
    await vault.remove('main');
    await vault.write('main', pair);
    expect(fake.mock.commandCalls(GetSecretValueCommand)).toEqual([]);
  });
});

describe('the token updater, which refreshing has', () => {
  const updater = createTokenUpdater(client, secretNames);

  it('takes one call for a known partner account, and leaves its policy alone', async () => {
    await vault.write('main', pair);
    fake.mock.resetHistory();
    const version = await updater.write('main', pair);
    expect(asked()).toEqual(['PutSecretValueCommand']);
    expect((await updater.read('main'))?.version).toBe(version);
    expect(fake.policyOf(name)).toBe(aReadersPolicy);
  });

  it('makes no secret, and brings back none that was removed', async () => {
    await expect(updater.write('main', pair)).rejects.toThrow('no such secret');
    await vault.write('main', pair);
    await vault.remove('main');
    await expect(updater.write('main', pair)).rejects.toThrow('marked for deletion');
    expect(await updater.read('main')).toBeUndefined();
  });

  it('passes on what is wrong with Secrets Manager itself', async () => {
    const fault = new Error('no route');
    fake.mock.on(PutResourcePolicyCommand).rejectsOnce(fault);
    await expect(vault.write('main', pair)).rejects.toBe(fault);
    expect(asked()).toEqual(['PutResourcePolicyCommand']);
    fake.mock.on(GetSecretValueCommand).rejects(fault);
    await expect(vault.read('main')).rejects.toBe(fault);
    fake.mock.on(DeleteSecretCommand).rejects(fault);
    await expect(vault.remove('main')).rejects.toBe(fault);
  });

  it('lets nobody in who is not named, and tells writings apart', async () => {
    await vault.write('main', pair);
    const policies = fake.mock.commandCalls(PutResourcePolicyCommand).map(({ args }) => args[0].input);
    expect(policies.at(-1)).toEqual({
      SecretId: name,
      ResourcePolicy: aReadersPolicy,
      BlockPublicPolicy: true,
    });
  });
});
