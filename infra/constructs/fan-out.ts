import { EventSourceMapping, type IFunction } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { BridgeFunction } from './bridge-function.ts';
import { fanOutTimeout } from './changed-adverts.ts';
import type { Parts } from './grantee.ts';

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
  constructor(scope: Construct, parts: Parts, refreshToken: IFunction) {
    const { settings, changedAdverts } = parts;
    super(scope, parts, {
      name: 'fanOut',
      description: 'Fetches adverts that changed and publishes their statuses',
      timeout: fanOutTimeout,
    });
    this.grantAdvertStatus('GetItem', 'PutItem')
      .grantFeedState({
        account: ['GetItem', 'PutItem'],
        books: ['GetItem', 'PutItem'],
        aside: ['PutItem'],
        dead: ['GetItem', 'PutItem'],
      })
      .grantTokens(refreshToken)
      .grantPublish()
      .grantChangedAdverts(
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
