import { randomUUID } from 'node:crypto';
import {
  CreateSecretCommand,
  DeleteSecretCommand,
  GetSecretValueCommand,
  InvalidRequestException,
  PutSecretValueCommand,
  ResourceNotFoundException,
  RestoreSecretCommand,
  type SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import type { TokenVault } from '../../functions/refresh-token/ports.ts';
import { secretNames } from '../contract/names.ts';
import type { TokenReader } from '../domain/ports.ts';
import { pairOfText, textOfPair } from '../domain/secret-text.ts';

const secretId = (partnerAccount: string) => secretNames.partnerAccountPrefix + partnerAccount;

/**
 * The least that Secrets Manager allows. Deleting at once is no better: it runs in the background, and the name is not
 * free until it has; a secret that waits for its deletion can be restored in a moment, so a partner account is
 * connected again under its old name without delay. Its value cannot be read meanwhile.
 *
 * @see https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_DeleteSecret.html
 */
const recoveryWindowDays = 7;

/** Reads the current token pairs; what drain and fan-out get. */
export function createTokenReader(client: SecretsManagerClient): TokenReader {
  return {
    async read(partnerAccount) {
      const SecretId = secretId(partnerAccount);
      const found = await unlessGone(client.send(new GetSecretValueCommand({ SecretId })));
      if (!found) return undefined;
      return {
        pair: pairOfText(found.SecretString ?? '', partnerAccount),
        version: found.VersionId ?? '',
      };
    },
  };
}

/**
 * Token pairs in Secrets Manager, one secret a partner account. The version of a pair is the request token of its
 * writing, so a repeated call cannot make two of one pair.
 *
 * @see https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_PutSecretValue.html
 */
export function createTokenVault(client: SecretsManagerClient): TokenVault {
  return {
    ...createTokenReader(client),

    async write(partnerAccount, pair) {
      const SecretId = secretId(partnerAccount);
      const value = { ClientRequestToken: randomUUID(), SecretString: textOfPair(pair) };
      const put = () => client.send(new PutSecretValueCommand({ SecretId, ...value }));
      try {
        await put();
      } catch (error) {
        if (error instanceof ResourceNotFoundException) {
          const created = await client.send(new CreateSecretCommand({ Name: SecretId, ...value }));
          // An emulator gives the first version an ID of its own.
          return created.VersionId ?? value.ClientRequestToken;
        } else if (error instanceof InvalidRequestException) {
          // The partner account was disconnected lately: its secret waits for deletion.
          await client.send(new RestoreSecretCommand({ SecretId }));
          await put();
        } else throw error;
      }
      return value.ClientRequestToken;
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
