import { Duration } from 'aws-cdk-lib';
import type { IFunction } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { BridgeFunction } from './bridge-function.ts';
import type { Parts } from './grantee.ts';

/** EventBridge Scheduler's shortest interval. With `pollSeconds` below 60, one run polls several times. */
const every = Duration.minutes(1);
/**
 * A little longer than the interval: a run that polls several times, or has many pages to read, continues until the next
 * one begins. Two concurrent runs are safe, because each feed has a lease.
 */
const timeout = Duration.seconds(90);

/** Reads the feeds every minute, and puts changed adverts into the queue. */
export class Drain extends BridgeFunction {
  readonly schedule = this.runEvery(every, 'Reads the change feeds');

  constructor(scope: Construct, parts: Parts, refreshToken: IFunction) {
    super(scope, parts, {
      name: 'drain',
      description: 'Reads the change feed of every partner account and queues the adverts that changed',
      timeout,
    });
    const { auditSample } = parts.settings;
    this.grantFeedState({
      account: ['GetItem', 'PutItem', 'Query'],
      feed: ['GetItem', 'PutItem', 'Query'],
      books: ['GetItem'],
      progress: ['Query', ...(auditSample > 0 ? (['GetItem', 'PutItem'] as const) : [])],
      aside: ['DeleteItem', 'Query'],
      dead: ['GetItem', 'PutItem', 'Query'],
    });
    this.addEnvironment('advertStatusTable', parts.advertStatus.tableName);
    if (auditSample > 0) this.grantAdvertStatus('Query');
    this.grantTokens(refreshToken).grantChangedAdverts('SendMessage', 'GetQueueAttributes');
  }
}
