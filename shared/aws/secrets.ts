import { randomUUID } from 'node:crypto';
import {
  CreateSecretCommand,
  DeleteSecretCommand,
  GetSecretValueCommand,
  InvalidRequestException,
  PutResourcePolicyCommand,
  PutSecretValueCommand,
  ResourceNotFoundException,
  RestoreSecretCommand,
  type SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import type { SecretNames } from '../contract/names.ts';
import { applicationOfText, pairOfText, textOfApplication, textOfPair } from '../domain/secret.ts';
import type { ApplicationSecretWriter, TokenReader, TokenVault } from '../ports/tokens.ts';

/**
 * The minimum that Secrets Manager allows. Immediate deletion is no better: it runs in the background, and the name is
 * not free until it has finished. A secret that waits for its deletion can be restored at once, so a partner account
 * can be connected again under its old name without delay. Until then its value cannot be read.
 *
 * @see https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_DeleteSecret.html
 */
const recoveryWindowDays = 7;

/**
 * Reads token pairs.
 *
 * @see https://docs.aws.amazon.com/secretsmanager/latest/userguide/troubleshoot.html for reads that lag behind writes
 */
export function createTokenReader(
  client: SecretsManagerClient,
  { partnerAccountPrefix }: SecretNames,
): TokenReader {
  return {
    async read(partnerAccount, VersionId) {
      const SecretId = partnerAccountPrefix + partnerAccount;
      const found = await unlessGone(client.send(new GetSecretValueCommand({ SecretId, VersionId })));
      if (!found) return undefined;
      return {
        pair: pairOfText(found.SecretString ?? '', SecretId),
        version: found.VersionId ?? '',
      };
    },
  };
}

/**
 * Reads token pairs, and replaces those of connected partner accounts. The version of a pair is the request token of
 * its write, so a repeated call does not create a second version.
 *
 * @see https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_PutSecretValue.html
 */
export function createTokenUpdater(
  client: SecretsManagerClient,
  names: SecretNames,
): Pick<TokenVault, 'read' | 'write'> {
  return {
    ...createTokenReader(client, names),

    /** @throws {ResourceNotFoundException} for a partner account that has no secret */
    async write(partnerAccount, pair) {
      const ClientRequestToken = randomUUID();
      const SecretId = names.partnerAccountPrefix + partnerAccount;
      const SecretString = textOfPair(pair);
      await client.send(new PutSecretValueCommand({ SecretId, SecretString, ClientRequestToken }));
      return ClientRequestToken;
    },
  };
}

/**
 * Token pairs in Secrets Manager: one secret per partner account, with a resource policy that says who may read it. A
 * new secret is created without a value, so that the policy is in place before the value.
 *
 * @param readersPolicy resource policy of each secret, as JSON; every `write` sets it again, so that `connect` updates
 * a policy from an older deployment
 * @param KmsKeyId key of new secrets; default: Secrets Manager's own key
 * @see https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_PutResourcePolicy.html
 */
export function createTokenVault(
  client: SecretsManagerClient,
  names: SecretNames,
  readersPolicy: string,
  KmsKeyId?: string,
): TokenVault {
  const { read, write } = createTokenUpdater(client, names);
  const secretId = (partnerAccount: string) => names.partnerAccountPrefix + partnerAccount;
  return {
    read,

    async write(partnerAccount, pair) {
      const SecretId = secretId(partnerAccount);
      const protect = { SecretId, ResourcePolicy: readersPolicy, BlockPublicPolicy: true };
      const put = async () => {
        await client.send(new PutResourcePolicyCommand(protect));
        return write(partnerAccount, pair);
      };
      try {
        return await put();
      } catch (error) {
        if (error instanceof ResourceNotFoundException) {
          await client.send(new CreateSecretCommand({ Name: SecretId, KmsKeyId }));
        } else if (error instanceof InvalidRequestException) {
          // The partner account was disconnected recently, and its secret waits for deletion.
          await client.send(new RestoreSecretCommand({ SecretId }));
        } else throw error;
        return put();
      }
    },

    async remove(partnerAccount) {
      const SecretId = secretId(partnerAccount);
      await unlessGone(
        client.send(new DeleteSecretCommand({ SecretId, RecoveryWindowInDays: recoveryWindowDays })),
      );
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
