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
import { pairOfText, textOfPair } from '../domain/secret-text.ts';
import type { TokenReader, TokenVault } from '../ports/token-vault.ts';

/**
 * The least that Secrets Manager allows. Deleting at once is no better: it runs in the background, and the name is not
 * free until it has; a secret that waits for its deletion can be restored in a moment, so a partner account is
 * connected again under its old name without delay. Its value cannot be read meanwhile.
 *
 * @see https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_DeleteSecret.html
 */
const recoveryWindowDays = 7;

/** Reads the current token pairs. */
export function createTokenReader(
  client: SecretsManagerClient,
  { partnerAccountPrefix }: SecretNames,
): TokenReader {
  return {
    async read(partnerAccount) {
      const SecretId = partnerAccountPrefix + partnerAccount;
      const found = await unlessGone(client.send(new GetSecretValueCommand({ SecretId })));
      if (!found) return undefined;
      return {
        pair: pairOfText(found.SecretString ?? '', SecretId),
        version: found.VersionId ?? '',
      };
    },
  };
}

/**
 * Reads token pairs, and replaces those of partner accounts that are connected. The version of a pair is the request token
 * of its writing, so a repeated call cannot make two of one pair.
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
 * Token pairs in Secrets Manager, one secret a partner account, each with a resource policy that says who may read it. The
 * policy is there before the value: a new secret is made without one.
 *
 * @param readersPolicy resource policy of each secret, as JSON; put anew with every `write`, so that `connect` brings one
 *   that an older deployment has left up to date
 * @param KmsKeyId key of the secrets that are made; default: that of Secrets Manager
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
          // The partner account was disconnected lately: its secret waits for deletion.
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

/** Undefined where there is no such secret, or where it waits for deletion. */
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
