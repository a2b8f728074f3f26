import {
  GetSecretValueCommand,
  PutSecretValueCommand,
  ResourceNotFoundException,
  type SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import type { SecretNames } from '../contract/names.ts';
import { applicationOfText, textOfApplication } from '../domain/secret.ts';
import type { ApplicationSecretWriter } from '../ports/tokens.ts';

/**
 * The application's credentials in Secrets Manager.
 *
 * @see https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html
 */
export function createApplicationSecret(
  client: SecretsManagerClient,
  { application: SecretId }: SecretNames,
): ApplicationSecretWriter {
  return {
    async read() {
      // The stack creates the secret without a value, so it has no current version until an operator stores one.
      const found = await client.send(new GetSecretValueCommand({ SecretId })).catch((error: unknown) => {
        if (error instanceof ResourceNotFoundException) return undefined;
        throw error;
      });
      return applicationOfText(found?.SecretString ?? '', SecretId);
    },

    async write(application) {
      const SecretString = textOfApplication(application);
      await client.send(new PutSecretValueCommand({ SecretId, SecretString }));
    },
  };
}
