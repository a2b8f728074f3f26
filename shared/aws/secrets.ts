import { randomUUID } from 'node:crypto';
import {
  CreateSecretCommand,
  DeleteSecretCommand,
  DescribeSecretCommand,
  GetSecretValueCommand,
  InvalidRequestException,
  PutResourcePolicyCommand,
  PutSecretValueCommand,
  ResourceNotFoundException,
  RestoreSecretCommand,
  type SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import type { SecretNames } from '../contract/names.ts';
import {
  applicationOfText,
  pairOfText,
  type StoredPair,
  textOfApplication,
  textOfPair,
} from '../domain/secret.ts';
import type { ApplicationSecret, TokenVault } from '../ports/tokens.ts';

/**
 * The minimum. Immediate deletion blocks the name for a while; a secret that waits for its deletion can be restored at once.
 * @see https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_DeleteSecret.html
 */
const recoveryWindowDays = 7;

/**
 * Token pairs, one secret per partner account. The version of a pair is the request token of its write, so a repeated call
 * does not create a second version.
 *
 * @param readersPolicy resource policy of each secret, as JSON, set before each value is written. Without it, only the
 * secrets of connected partner accounts can be written
 * @param KmsKeyId key of new secrets; default: Secrets Manager's own key
 * @see https://docs.aws.amazon.com/secretsmanager/latest/userguide/troubleshoot.html for reads that lag behind writes
 */
export function createTokenVault(
  client: SecretsManagerClient,
  names: SecretNames,
  readersPolicy?: string,
  KmsKeyId?: string,
): TokenVault {
  const idOf = (partnerAccount: string) => names.partnerAccountPrefix + partnerAccount;

  /** The tags that the stack gave the application's secret: an organization may deny a secret that lacks them. */
  async function stackTags() {
    const described = client.send(new DescribeSecretCommand({ SecretId: names.application }));
    const { Tags = [] } = (await unlessGone(described)) ?? {};
    const own = Tags.filter(({ Key = '' }) => !Key.startsWith('aws:'));
    return own.length > 0 ? own : undefined;
  }

  async function put(SecretId: string, pair: StoredPair): Promise<string> {
    const ClientRequestToken = randomUUID();
    if (readersPolicy !== undefined) {
      const policy = { SecretId, ResourcePolicy: readersPolicy, BlockPublicPolicy: true };
      await client.send(new PutResourcePolicyCommand(policy));
    }
    const SecretString = textOfPair(pair);
    await client.send(new PutSecretValueCommand({ SecretId, SecretString, ClientRequestToken }));
    return ClientRequestToken;
  }

  return {
    async read(partnerAccount, VersionId) {
      const SecretId = idOf(partnerAccount);
      const found = await unlessGone(client.send(new GetSecretValueCommand({ SecretId, VersionId })));
      return (
        found && { pair: pairOfText(found.SecretString ?? '', SecretId), version: found.VersionId ?? '' }
      );
    },

    async write(partnerAccount, pair) {
      const SecretId = idOf(partnerAccount);
      try {
        return await put(SecretId, pair);
      } catch (error) {
        if (readersPolicy === undefined) throw error;
        if (error instanceof ResourceNotFoundException) {
          await client.send(new CreateSecretCommand({ Name: SecretId, KmsKeyId, Tags: await stackTags() }));
        } else if (error instanceof InvalidRequestException) {
          // The partner account was disconnected recently, and its secret waits for deletion.
          await client.send(new RestoreSecretCommand({ SecretId }));
        } else throw error;
        return put(SecretId, pair);
      }
    },

    async remove(partnerAccount) {
      const removal = { SecretId: idOf(partnerAccount), RecoveryWindowInDays: recoveryWindowDays };
      await unlessGone(client.send(new DeleteSecretCommand(removal)));
    },
  };
}

/** Undefined if there is no such secret or version, or if the secret waits for deletion. */
async function unlessGone<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ResourceNotFoundException || error instanceof InvalidRequestException) {
      return undefined;
    }
    throw error;
  }
}

/** The application's credentials in Secrets Manager. The stack creates the secret without a value. */
export function createApplicationSecret(
  client: SecretsManagerClient,
  { application: SecretId }: SecretNames,
): ApplicationSecret {
  return {
    async read() {
      const found = await unlessGone(client.send(new GetSecretValueCommand({ SecretId })));
      return applicationOfText(found?.SecretString ?? '', SecretId);
    },

    async write(application) {
      const SecretString = textOfApplication(application);
      await client.send(new PutSecretValueCommand({ SecretId, SecretString }));
    },
  };
}
