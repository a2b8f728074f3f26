import { Duration, Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { BridgeFunction } from './bridge-function.ts';
import type { Parts } from './grantee.ts';
import { partnerSecretPolicy } from './secrets.ts';

/**
 * Shorter than the lease of the refresh lock (two minutes), as for refresh-token: both write tokens while they have the
 * lock.
 */
const timeout = Duration.minutes(1);

/**
 * Connects, disconnects and forgets partner accounts for the command line. It is a separate function, so that functions
 * that may invoke refresh-token may not invoke this one.
 */
export class Connect extends BridgeFunction {
  constructor(scope: Construct, parts: Parts) {
    super(scope, parts, {
      name: 'connect',
      description: 'Connects, disconnects and forgets partner accounts, for the command line',
      timeout,
      readsTokens: false,
    });
    this.grantFeedState({
      account: ['DeleteItem', 'GetItem', 'PutItem'],
      feed: ['DeleteItem', 'GetItem', 'PutItem', 'Query'],
      books: ['GetItem'],
      progress: ['Query'],
    });
    // To check by its published adverts whether a partner account still belongs to the same user.
    this.grantAdvertStatus('GetItem').#grantSecrets().grantPublish();
  }

  /**
   * Allows creating and deleting secrets, but not reading them. A deleted secret can be restored during its recovery
   * window, so this function may not delete without one.
   *
   * @see https://docs.aws.amazon.com/service-authorization/latest/reference/list_awssecretsmanager.html for the
   * condition keys
   */
  #grantSecrets(): this {
    const { settings } = this.parts;
    this.addEnvironment(
      'partnerSecretPolicy',
      Stack.of(this).toJsonString(partnerSecretPolicy(this, settings)),
    );
    if (settings.encryptionKey) this.addEnvironment('partnerSecretKey', settings.encryptionKey.keyArn);
    return this.grantPartnerSecrets('Write', ['CreateSecret', 'PutSecretValue', 'RestoreSecret'])
      .grantPartnerSecrets('Remove', ['DeleteSecret'], {
        BoolIfExists: { 'secretsmanager:ForceDeleteWithoutRecovery': 'false' },
      })
      .grantPartnerSecrets('Protect', ['PutResourcePolicy'], {
        Bool: { 'secretsmanager:BlockPublicPolicy': 'true' },
      });
  }
}
