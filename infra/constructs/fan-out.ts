import type { Duration } from 'aws-cdk-lib';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import { EventSourceMapping } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { advertStatusTable } from '../../shared/contract/tables.ts';
import { BridgeFunction } from './bridge-function.ts';
import type { ChangedAdverts } from './changed-adverts.ts';
import { durableTable } from './durable-table.ts';
import { grantDeadLetters, grantFeedState, grantPublish, grantTokens, rateBudget } from './grants.ts';
import { tokenReaderPathOf } from './partner-secrets.ts';
import type { Parts } from './parts.ts';
import type { BridgeConfig } from './props/bridge-config.ts';

export interface FanOutProps extends Omit<Parts, 'advertStatus'> {
  readonly timeout: Duration;
}

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
  readonly advertStatus: ITable;

  constructor(scope: Construct, id: string, props: FanOutProps) {
    const { settings, timeout, feedState, changedAdverts, refreshToken, bus } = props;
    super(scope, id, {
      name: 'fanOut',
      description: 'Fetches adverts that changed and publishes their statuses',
      timeout,
      rolePath: tokenReaderPathOf(settings),
      settings,
    });
    this.advertStatus = durableTable(
      this,
      'AdvertStatus',
      advertStatusTable,
      settings,
      settings.advertStatusTable,
    );
    this.addEnvironment('advertStatusTable', this.advertStatus.tableName).addStatement('AdvertStatus', {
      actions: ['dynamodb:BatchGetItem', 'dynamodb:GetItem', 'dynamodb:PutItem'],
      resources: [this.advertStatus.tableArn],
    });
    grantFeedState(this, feedState, {
      ...rateBudget,
      account: ['GetItem'],
      books: ['UpdateItem'],
      parked: ['PutItem'],
      parkedMessages: ['BatchWriteItem'],
    });
    grantTokens(this, refreshToken);
    grantPublish(this, bus);
    grantDeadLetters(this, changedAdverts.deadLetters);
    this.#receives(changedAdverts, settings);
  }

  #receives({ queue }: ChangedAdverts, { maxRequestsPerSecond, reservedConcurrency }: BridgeConfig): void {
    this.addEnvironment('queueUrl', queue.queueUrl).addStatement('ChangedAdverts', {
      actions: [
        'sqs:ReceiveMessage',
        'sqs:DeleteMessage',
        'sqs:GetQueueAttributes',
        'sqs:ChangeMessageVisibility',
      ],
      resources: [queue.queueArn],
    });
    // Enough if each batch takes a second; more batches would only wait for the rate budget.
    const needed = Math.ceil(maxRequestsPerSecond / batchSize);
    const mapping = new EventSourceMapping(this, 'ChangedAdverts', {
      target: this.lambda,
      eventSourceArn: queue.queueArn,
      batchSize,
      reportBatchItemFailures: true,
      maxConcurrency: Math.min(
        Math.max(needed, fewestAtOnce),
        reservedConcurrency.fanOut ?? maxAtOnce,
        maxAtOnce,
      ),
    });
    // When Lambda creates the mapping, it checks that the function may receive from the queue.
    mapping.node.addDependency(this.role);
  }
}
