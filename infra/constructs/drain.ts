import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { BridgeFunction } from './bridge-function.ts';
import { rateBudget, readsAndRenewsTokens, sendsDeadLetters, usesFeedState } from './grants.ts';
import { tokenReaderPathOf } from './partner-secrets.ts';
import type { Parts } from './parts.ts';
import { Schedule } from './schedule.ts';

/** EventBridge Scheduler's shortest interval; with `pollSeconds` below 60 one run polls several times. */
const every = Duration.minutes(1);
/**
 * A little longer than the interval: a run that polls often goes on until the next one begins, and one with a backlog reads
 * on. Two runs at once do no harm, since each feed has a lease. Reserved concurrency would add nothing to that, and new AWS
 * accounts may have only ten executions in all.
 */
const timeout = Duration.seconds(90);

/** Reads the feeds, every minute, and puts the adverts that changed into the queue. */
export class Drain extends Construct {
  readonly function: BridgeFunction;
  readonly schedule: Schedule;

  constructor(scope: Construct, id: string, props: Omit<Parts, 'advertStatus' | 'bus'>) {
    super(scope, id);
    const { settings, feedState, changedAdverts, refreshToken } = props;
    // A feed that was switched on is registered for the partner accounts that are connected already.
    const isAdvertsOnly = settings.feeds === undefined || settings.feeds.length === 1;
    this.function = new BridgeFunction(this, 'Reader', {
      name: 'drain',
      description: 'Reads the change feed of every partner account and queues the adverts that changed',
      stage: 'drain',
      timeout,
      rolePath: tokenReaderPathOf(settings),
      settings,
    });
    usesFeedState(this.function, feedState, {
      ...rateBudget,
      account: ['GetItem', 'Query'],
      feed: ['GetItem', 'Query', 'UpdateItem', ...(isAdvertsOnly ? [] : (['PutItem'] as const))],
      books: ['GetItem'],
      parked: ['DeleteItem', 'GetItem', 'Query'],
      parkedMessages: ['BatchWriteItem', 'Query'],
    });
    readsAndRenewsTokens(this.function, refreshToken);
    this.function.knows('queueUrl', changedAdverts.queue.queueUrl).may('ChangedAdverts', {
      actions: ['sqs:SendMessage', 'sqs:GetQueueAttributes'],
      resources: [changedAdverts.queue.queueArn],
    });
    sendsDeadLetters(this.function, changedAdverts.deadLetters);
    this.schedule = new Schedule(this, 'EveryMinute', {
      description: 'Reads the change feeds',
      target: this.function,
      every,
    });
  }
}
