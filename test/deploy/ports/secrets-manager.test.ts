import { CreateSecretCommand, PutSecretValueCommand } from '@aws-sdk/client-secrets-manager';
import { createApplicationSecret, createTokenVault } from '../../../shared/aws/secrets.ts';
import { secretNames } from '../../../shared/contract/names.ts';
import { aReadersPolicy } from '../../helpers/aws/fake-secrets-manager.ts';
import { applicationSecretSuite } from '../../ports/application-secret.suite.ts';
import { tokenVaultSuite } from '../../ports/token-vault.suite.ts';
import { anAwsAccount } from './account.ts';

const name = 'Secrets Manager (MiniStack)';

tokenVaultSuite(name, async () => {
  const { secrets, cleanUp } = anAwsAccount();
  return {
    vault: createTokenVault(secrets, secretNames, aReadersPolicy),
    edit: async (partnerAccount, text) => {
      const SecretId = secretNames.partnerAccountPrefix + partnerAccount;
      await secrets.send(new PutSecretValueCommand({ SecretId, SecretString: text }));
    },
    cleanUp,
  };
});

applicationSecretSuite(name, async (text) => {
  const { secrets, cleanUp } = anAwsAccount();
  await secrets.send(new CreateSecretCommand({ Name: secretNames.application, SecretString: text }));
  return { applicationSecret: createApplicationSecret(secrets, secretNames), cleanUp };
});
