import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { BridgeFunction } from './bridge-function.ts';
import { rateBudget, readsAndRenewsTokens, sendsDeadLetters, usesFeedState } from './grants.ts';
import { tokenReaderPathOf } from './partner-secrets.ts';
import type { Parts } from './parts.ts';
import { Schedule } from './schedule.ts';

/** EventBridge Scheduler's shortest interval. With `pollSeconds` below 60, one run polls several times. */
const every = Duration.minutes(1);
/**
 * A little longer than the interval: a run that polls several times continues until the next one begins, and so does a
 * run with many pages to read. Two concurrent runs are safe, because each feed has a lease. Reserved concurrency is
 * therefore not needed, and a new AWS account may be limited to ten concurrent executions in total.
 */
const timeout = Duration.seconds(90);

/** Reads the feeds every minute, and puts changed adverts into the queue. */
export class Drain extends Construct {
  readonly function: BridgeFunction;
  readonly schedule: Schedule;

  constructor(scope: Construct, id: string, props: Omit<Parts, 'advertStatus' | 'bus'>) {
    super(scope, id);
    const { settings, feedState, changedAdverts, refreshToken } = props;
    // A newly enabled feed is registered for the partner accounts that are already connected.
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
