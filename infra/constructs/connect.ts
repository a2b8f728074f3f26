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
    this.grantAdvertStatus('GetItem').grantPublish();
    const { settings } = parts;
    this.addEnvironment(
      'partnerSecretPolicy',
      Stack.of(this).toJsonString(partnerSecretPolicy(this, settings)),
    );
    if (settings.encryptionKey) this.addEnvironment('partnerSecretKey', settings.encryptionKey.keyArn);
    // It may not read secrets, nor delete one without its recovery window:
    // https://docs.aws.amazon.com/service-authorization/latest/reference/list_awssecretsmanager.html
    this.grantPartnerSecrets('Write', ['CreateSecret', 'PutSecretValue', 'RestoreSecret'])
      .grantPartnerSecrets('Remove', ['DeleteSecret'], {
        BoolIfExists: { 'secretsmanager:ForceDeleteWithoutRecovery': 'false' },
      })
      .grantPartnerSecrets('Protect', ['PutResourcePolicy'], {
        Bool: { 'secretsmanager:BlockPublicPolicy': 'true' },
      });
  }
}
