import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { BridgeFunction } from './bridge-function.ts';
import { publishesOn, rateBudget, usesFeedState } from './grants.ts';
import { connectsPartnerSecrets } from './partner-secrets.ts';
import type { Parts } from './parts.ts';

/**
 * Shorter than the lease of the refresh lock (two minutes), as for refresh-token: both write tokens while they have the
 * lock.
 */
const timeout = Duration.minutes(1);

/**
 * Connects, disconnects and forgets partner accounts for the command line. It is a separate function, so that functions
 * that may invoke refresh-token may not invoke this one.
 */
export class Connect extends Construct {
  readonly function: BridgeFunction;

  constructor(scope: Construct, id: string, props: Omit<Parts, 'changedAdverts' | 'refreshToken'>) {
    super(scope, id);
    const { settings, feedState, advertStatus, bus } = props;
    this.function = new BridgeFunction(this, 'Handler', {
      name: 'connect',
      description: 'Connects, disconnects and forgets partner accounts, for the command line',
      stage: 'connect',
      timeout,
      settings,
    });
    usesFeedState(this.function, feedState, {
      ...rateBudget,
      account: ['DeleteItem', 'GetItem', 'PutItem'],
      feed: ['BatchWriteItem', 'GetItem', 'PutItem', 'Query'],
      books: ['BatchWriteItem', 'GetItem', 'Query'],
    });
    // To check by its published adverts whether a partner account still belongs to the same user.
    this.function.knows('advertStatusTable', advertStatus.tableName).may('AdvertStatus', {
      actions: ['dynamodb:BatchGetItem'],
      resources: [advertStatus.tableArn],
    });
    connectsPartnerSecrets(this.function);
    publishesOn(this.function, bus);
  }
}
