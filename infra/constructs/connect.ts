import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { BridgeFunction } from './bridge-function.ts';
import { publishesOn, rateBudget, usesFeedState } from './grants.ts';
import { connectsPartnerSecrets } from './partner-secrets.ts';
import type { Parts } from './parts.ts';

/** Below the lease of the refresh lock, two minutes, as for refresh-token: both write tokens under it. */
const timeout = Duration.minutes(1);

/**
 * Does what operators ask for at the command line: connects, disconnects and forgets partner accounts. A function of its own,
 * so that what may ask for a refresh may not ask for this.
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
    // To tell by its published adverts whether a partner account is still the same user.
    this.function.knows('advertStatusTable', advertStatus.tableName).may('AdvertStatus', {
      actions: ['dynamodb:BatchGetItem'],
      resources: [advertStatus.tableArn],
    });
    connectsPartnerSecrets(this.function);
    publishesOn(this.function, bus);
  }
}
