import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { BridgeFunction } from './bridge-function.ts';
import { publishesOn, rateBudget, usesFeedState } from './grants.ts';
import { refreshesPartnerSecrets, tokenReaderPathOf } from './partner-secrets.ts';
import type { Parts } from './parts.ts';
import { Schedule } from './schedule.ts';

/** Drain and fan-out have tokens refreshed when they meet expired ones; this finds the others well before they are lost. */
const every = Duration.minutes(15);
/** Shorter than the lease of the refresh lock, two minutes: whoever takes the lock over finds nobody still writing. */
const timeout = Duration.minutes(1);

/** Keeps the tokens of partner accounts alive. Who may call it: docs/operate/security.md#who-may-call-which-function. */
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
