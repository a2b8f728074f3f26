import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { createApplicationSecret, createTokenVault } from '../../shared/aws/secrets.ts';
import { secretNames } from '../../shared/contract/names.ts';
import { aReadersPolicy, fakeSecretsManager } from '../helpers/aws/fake-secrets-manager.ts';
import { applicationSecretSuite } from './application-secret.suite.ts';
import { tokenVaultSuite } from './token-vault.suite.ts';

const name = 'Secrets Manager (played)';
const fake = fakeSecretsManager();
const client = new SecretsManagerClient({});

tokenVaultSuite(name, async () => {
  fake.start();
  return {
    vault: createTokenVault(client, secretNames, aReadersPolicy),
    edit: (partnerAccount, text) => fake.set(`advert-bridge/partner-accounts/${partnerAccount}`, text),
  };
});

applicationSecretSuite(name, async (text) => {
  fake.start();
  fake.set('advert-bridge/application', text);
  return { applicationSecret: createApplicationSecret(client, secretNames) };
});
