import { Duration } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { BridgeFunction } from './bridge-function.ts';
import type { Parts } from './grantee.ts';

/**
 * Drain and fan-out request a refresh when they find a token expired; this schedule refreshes the others well before
 * their refresh tokens expire.
 */
const every = Duration.minutes(15);
/**
 * Shorter than the lease of the refresh lock (two minutes), so that the former owner of an expired lock is no longer
 * writing.
 */
const timeout = Duration.minutes(1);

/** For its callers see docs/operate/security.md#who-may-call-which-function. */
export class RefreshToken extends BridgeFunction {
  readonly schedule = this.runEvery(every, 'Refreshes tokens that have run out');

  constructor(scope: Construct, parts: Parts) {
    super(scope, parts, {
      name: 'refreshToken',
      description: 'Refreshes the tokens of partner accounts',
      timeout,
    });
    this.grantFeedState({ account: ['GetItem', 'PutItem', 'Query'] })
      // Not creating or deleting secrets.
      .grantPartnerSecrets('Read', ['GetSecretValue'])
      .grantPartnerSecrets('Write', ['PutSecretValue'])
      .grantPublish();
  }
}
