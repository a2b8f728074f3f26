import { Duration } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { BridgeFunction } from '../bridge-function.ts';
import { grantFeedState, grantTokens, rateBudget } from '../grants.ts';
import { tokenReaderPathOf } from '../partner-secrets.ts';
import type { Parts } from '../parts.ts';
import { schedule } from '../schedule.ts';

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
export class Audit extends BridgeFunction {
  readonly schedule = schedule(this, 'Goes on with the daily audit', every);

  constructor(scope: Construct, id: string, props: Omit<Parts, 'bus'>) {
    const { settings, feedState, advertStatus, changedAdverts, refreshToken } = props;
    super(scope, id, {
      name: 'audit',
      description: 'Compares what was published with what the partner service says, and changes nothing',
      timeout,
      rolePath: tokenReaderPathOf(settings),
      settings,
    });
    grantFeedState(this, feedState, {
      ...rateBudget,
      account: ['GetItem', 'Query'],
      feed: ['Query'],
      // The progress of an audit is stored next to the item of the books.
      books: ['GetItem', 'UpdateItem'],
      parked: ['GetItem'],
    });
    this.addEnvironment('advertStatusTable', advertStatus.tableName).addStatement('AdvertStatus', {
      actions: ['dynamodb:BatchGetItem', 'dynamodb:Scan'],
      resources: [advertStatus.tableArn],
    });
    grantTokens(this, refreshToken);
    this.addEnvironment('queueUrl', changedAdverts.queue.queueUrl).addStatement('ChangedAdverts', {
      actions: ['sqs:GetQueueAttributes'],
      resources: [changedAdverts.queue.queueArn],
    });
  }
}
