import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { BridgeFunction } from '../bridge-function.ts';
import { rateBudget, readsAndRenewsTokens, usesFeedState } from '../grants.ts';
import { tokenReaderPathOf } from '../partner-secrets.ts';
import type { Parts } from '../parts.ts';
import { Schedule } from '../schedule.ts';

/**
 * An audit takes two or three runs: adverts that differ are fetched again when the feed lists every change that may
 * explain the difference.
 */
const every = Duration.minutes(15);
/** A run ends before the next one begins. Drawing a sample reads the whole advert-status table within one run. */
const timeout = Duration.minutes(14);

/**
 * Compares a sample of the published statuses with the partner service once a day. It is a separate function, which
 * exists only with the setting `auditSample`: drain and fan-out need neither the permission to scan the advert-status
 * table nor the code for it.
 */
export class Audit extends Construct {
  readonly function: BridgeFunction;
  readonly schedule: Schedule;

  constructor(scope: Construct, id: string, props: Omit<Parts, 'bus'>) {
    super(scope, id);
    const { settings, feedState, advertStatus, changedAdverts, refreshToken } = props;
    this.function = new BridgeFunction(this, 'Comparer', {
      name: 'audit',
      description: 'Compares what was published with what the partner service says, and changes nothing',
      stage: 'audit',
      timeout,
      rolePath: tokenReaderPathOf(settings),
      settings,
    });
    usesFeedState(this.function, feedState, {
      ...rateBudget,
      account: ['GetItem', 'Query'],
      feed: ['Query'],
      // The progress of an audit is stored next to the item of the books.
      books: ['GetItem', 'UpdateItem'],
      parked: ['GetItem'],
    });
    this.function.knows('advertStatusTable', advertStatus.tableName).may('AdvertStatus', {
      actions: ['dynamodb:BatchGetItem', 'dynamodb:Scan'],
      resources: [advertStatus.tableArn],
    });
    readsAndRenewsTokens(this.function, refreshToken);
    this.function.knows('queueUrl', changedAdverts.queue.queueUrl).may('ChangedAdverts', {
      actions: ['sqs:GetQueueAttributes'],
      resources: [changedAdverts.queue.queueArn],
    });
    this.schedule = new Schedule(this, 'EveryQuarter', {
      description: 'Goes on with the daily audit',
      target: this.function,
      every,
    });
  }
}
