import { EventSourceMapping } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { BridgeFunction } from './bridge-function.ts';
import { fanOutTimeout } from './changed-adverts.ts';
import {
  grantAdvertStatus,
  grantChangedAdverts,
  grantDeadLetters,
  grantFeedState,
  grantPublish,
  grantTokens,
  rateBudget,
} from './grants.ts';
import type { Parts } from './parts.ts';
import { tokenReaderPathOf } from './secrets.ts';

/** The maximum batch size for a FIFO queue. */
const batchSize = 10;
/**
 * A request that hangs delays its batch, so a second batch must be able to run at the same time. More would not help:
 * beyond the rate budget, batches wait inside functions, which costs money (docs/operate/capacity.md).
 */
const fewestAtOnce = 2;
/** A tenth of an AWS account's default concurrency, because other functions run there too. */
const maxAtOnce = 100;

/** Fetches each changed advert and publishes its events. */
export class FanOut extends BridgeFunction {
  constructor(scope: Construct, id: string, props: Parts) {
    const { settings, feedState, advertStatus, changedAdverts, refreshToken, bus } = props;
    super(scope, id, {
      name: 'fanOut',
      description: 'Fetches adverts that changed and publishes their statuses',
      timeout: fanOutTimeout,
      rolePath: tokenReaderPathOf(settings),
      settings,
    });
    grantAdvertStatus(this, advertStatus, 'GetItem', 'PutItem');
    grantFeedState(this, feedState, {
      ...rateBudget,
      account: ['GetItem', 'PutItem'],
      books: ['UpdateItem'],
      aside: ['PutItem'],
    });
    grantTokens(this, refreshToken);
    grantPublish(this, bus);
    grantDeadLetters(this, changedAdverts.deadLetters);
    grantChangedAdverts(
      this,
      changedAdverts.queue,
      'ReceiveMessage',
      'DeleteMessage',
      'GetQueueAttributes',
      'ChangeMessageVisibility',
    );
    // Enough if each batch takes a second; more batches would only wait for the rate budget.
    const needed = Math.ceil(settings.maxRequestsPerSecond / batchSize);
    const mapping = new EventSourceMapping(this, 'ChangedAdverts', {
      target: this.lambda,
      eventSourceArn: changedAdverts.queue.queueArn,
      batchSize,
      reportBatchItemFailures: true,
      maxConcurrency: Math.min(
        Math.max(needed, fewestAtOnce),
        settings.reservedConcurrency.fanOut ?? maxAtOnce,
        maxAtOnce,
      ),
    });
    // When Lambda creates the mapping, it checks that the function may receive from the queue.
    mapping.node.addDependency(this.role);
  }
}
