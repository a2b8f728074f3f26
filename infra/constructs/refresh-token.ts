import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { BridgeFunction } from './bridge-function.ts';
import { publishesOn, rateBudget, usesFeedState } from './grants.ts';
import { refreshesPartnerSecrets, tokenReaderPathOf } from './partner-secrets.ts';
import type { Parts } from './parts.ts';
import { Schedule } from './schedule.ts';

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

/**
 * Refreshes the tokens of partner accounts. For its callers see docs/operate/security.md#who-may-call-which-function.
 */
export class RefreshToken extends Construct {
  readonly function: BridgeFunction;
  readonly schedule: Schedule;

  constructor(scope: Construct, id: string, props: Pick<Parts, 'settings' | 'feedState' | 'bus'>) {
    super(scope, id);
    const { settings, feedState, bus } = props;
    this.function = new BridgeFunction(this, 'Keeper', {
      name: 'refreshToken',
      description: 'Refreshes the tokens of partner accounts',
      stage: 'refresh-token',
      rolePath: tokenReaderPathOf(settings),
      timeout,
      settings,
    });
    usesFeedState(this.function, feedState, { ...rateBudget, account: ['GetItem', 'PutItem', 'Query'] });
    refreshesPartnerSecrets(this.function);
    publishesOn(this.function, bus);
    this.schedule = new Schedule(this, 'EveryQuarter', {
      description: 'Refreshes tokens that have run out',
      target: this.function,
      every,
    });
  }
}
