import {
  CreateSecretCommand,
  DeleteSecretCommand,
  PutSecretValueCommand,
  RestoreSecretCommand,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { beforeEach, describe, expect, it } from 'vitest';
import { createTokenVault } from '../../../shared/aws/token-vault.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import { fakeSecretsManager } from './fake-secrets-manager.ts';

const fake = fakeSecretsManager();
const vault = createTokenVault(new SecretsManagerClient({}));
const pair = {
  accessToken: new Secret('access'),
  refreshToken: new Secret('refresh'),
  scope: 'v2 read write',
  expiresAt: 1_763_643_600_000,
  obtainedAt: 1_763_640_000_000,
};

beforeEach(() => fake.start());

describe('the token vault on Secrets Manager', () => {
  it('makes the secret of a new partner account under the version that it returns', async () => {
    const version = await vault.write('main', pair);
    expect(fake.mock.commandCalls(CreateSecretCommand)[0]?.args[0].input).toMatchObject({
      Name: 'advert-bridge/partner-accounts/main',
      ClientRequestToken: version,
    });
    expect((await vault.read('main'))?.version).toBe(version);
  });

  it('takes one call for a known partner account', async () => {
    await vault.write('main', pair);
    fake.mock.resetHistory();
    await vault.write('main', pair);
    expect(fake.mock.calls()).toHaveLength(1);
    expect(fake.mock.commandCalls(PutSecretValueCommand)).toHaveLength(1);
  });

  it('has the name free again at once after a removal', async () => {
    await vault.write('main', pair);
    await vault.remove('main');
    expect(await vault.read('main')).toBeUndefined();
    expect(fake.mock.commandCalls(DeleteSecretCommand)[0]?.args[0].input.RecoveryWindowInDays).toBe(7);

    const version = await vault.write('main', pair);

    expect(fake.mock.commandCalls(RestoreSecretCommand)).toHaveLength(1);
    expect((await vault.read('main'))?.version).toBe(version);
    await vault.remove('main');
    await vault.remove('main');
  });
});
