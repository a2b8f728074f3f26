import {
  GetSecretValueCommand,
  PutSecretValueCommand,
  ResourceNotFoundException,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { beforeEach, describe, expect, it } from 'vitest';
import { createApplicationSecret } from '../../../shared/aws/secrets.ts';
import { secretNames } from '../../../shared/contract/names.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import { mockClient } from '../../helpers/aws/mock-client.ts';

const mock = mockClient(SecretsManagerClient);
const secret = createApplicationSecret(new SecretsManagerClient({}), secretNames);

beforeEach(() => mock.reset());

describe('the application secret on Secrets Manager', () => {
  it('is read as it was written, under one name', async () => {
    mock.on(PutSecretValueCommand).resolves({});
    await secret.write({ clientId: new Secret('id-1'), clientSecret: new Secret('hush') });
    const written = mock.commandCalls(PutSecretValueCommand)[0]?.args[0].input;
    expect(written?.SecretId).toBe('advert-bridge/application');

    mock
      .on(GetSecretValueCommand, { SecretId: written?.SecretId })
      .resolves({ SecretString: written?.SecretString });
    const { clientId, clientSecret } = await secret.read();
    expect([clientId.reveal(), clientSecret.reveal()]).toEqual(['id-1', 'hush']);
  });

  it('is not filled in where it has no version, or no text', async () => {
    mock
      .on(GetSecretValueCommand)
      .rejectsOnce(new ResourceNotFoundException({ message: 'no value', $metadata: {} }));
    await expect(secret.read()).rejects.toMatchObject({ code: 'wrong-shape' });
    mock.on(GetSecretValueCommand).resolves({});
    await expect(secret.read()).rejects.toMatchObject({ code: 'wrong-shape' });
  });

  it('passes on what is wrong with Secrets Manager itself', async () => {
    mock.on(GetSecretValueCommand).rejects(new Error('no route'));
    await expect(secret.read()).rejects.toThrow('no route');
  });
});
