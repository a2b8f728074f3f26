import { Duration } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { BridgeFunction } from './bridge-function.ts';
import { grantAdvertStatus, grantFeedState, grantPublish, rateBudget } from './grants.ts';
import type { Parts } from './parts.ts';
import { grantConnectPartnerSecrets } from './secrets.ts';

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
  constructor(scope: Construct, id: string, props: Omit<Parts, 'changedAdverts' | 'refreshToken'>) {
    const { settings, feedState, advertStatus, bus } = props;
    super(scope, id, {
      name: 'connect',
      description: 'Connects, disconnects and forgets partner accounts, for the command line',
      timeout,
      settings,
    });
    grantFeedState(this, feedState, {
      ...rateBudget,
      account: ['DeleteItem', 'GetItem', 'PutItem'],
      feed: ['BatchWriteItem', 'GetItem', 'PutItem', 'Query'],
      books: ['BatchWriteItem', 'GetItem', 'Query'],
      progress: ['BatchWriteItem', 'Query'],
    });
    // To check by its published adverts whether a partner account still belongs to the same user.
    grantAdvertStatus(this, advertStatus, 'GetItem');
    grantConnectPartnerSecrets(this);
    grantPublish(this, bus);
  }
}
