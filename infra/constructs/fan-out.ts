import type { Duration } from 'aws-cdk-lib';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import { EventSourceMapping } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { advertStatusTable } from '../../shared/contract/tables.ts';
import { BridgeFunction } from './bridge-function.ts';
import type { ChangedAdverts } from './changed-adverts.ts';
import { durableTable } from './durable-table.ts';
import { publishesOn, rateBudget, readsAndRenewsTokens, sendsDeadLetters, usesFeedState } from './grants.ts';
import { tokenReaderPathOf } from './partner-secrets.ts';
import type { Parts } from './parts.ts';
import type { BridgeConfig } from './props/bridge-config.ts';

export interface FanOutProps extends Omit<Parts, 'advertStatus'> {
  readonly timeout: Duration;
}

/** The most that SQS hands over of a FIFO queue. */
const batchSize = 10;
/**
 * A hanging advert holds up its batch, so a second batch has to run beside it. No more than that: what is beyond the rate
 * budget waits in a function, which is paid for (docs/operate/capacity.md).
 */
const fewestAtOnce = 2;
/** A tenth of the concurrency that an AWS account has by default: other functions run there too. */
const maxAtOnce = 100;

/** Fetches each advert that changed and publishes what became of it. */
export class FanOut extends Construct {
  readonly function: BridgeFunction;
  readonly advertStatus: ITable;

  constructor(scope: Construct, id: string, props: FanOutProps) {
    super(scope, id);
    const { settings, timeout, feedState, changedAdverts, refreshToken, bus } = props;
    this.advertStatus = durableTable(
      this,
      'AdvertStatus',
      advertStatusTable,
      settings,
      settings.advertStatusTable,
    );
    this.function = new BridgeFunction(this, 'Worker', {
      name: 'fanOut',
      description: 'Fetches adverts that changed and publishes their statuses',
      stage: 'fan-out',
      timeout,
      rolePath: tokenReaderPathOf(settings),
      settings,
    });
    this.function.knows('advertStatusTable', this.advertStatus.tableName).may('AdvertStatus', {
      actions: ['dynamodb:BatchGetItem', 'dynamodb:GetItem', 'dynamodb:PutItem'],
      resources: [this.advertStatus.tableArn],
    });
    usesFeedState(this.function, feedState, {
      ...rateBudget,
      account: ['GetItem'],
      books: ['UpdateItem'],
      parked: ['PutItem'],
      parkedMessages: ['BatchWriteItem'],
    });
    readsAndRenewsTokens(this.function, refreshToken);
    publishesOn(this.function, bus);
    sendsDeadLetters(this.function, changedAdverts.deadLetters);
    this.#receives(changedAdverts, settings);
  }

  #receives({ queue }: ChangedAdverts, { maxRequestsPerSecond, reservedConcurrency }: BridgeConfig): void {
    this.function.knows('queueUrl', queue.queueUrl).may('ChangedAdverts', {
      actions: [
        'sqs:ReceiveMessage',
        'sqs:DeleteMessage',
        'sqs:GetQueueAttributes',
        'sqs:ChangeMessageVisibility',
      ],
      resources: [queue.queueArn],
    });
    // Enough for batches that take a second each; more would only wait for the rate budget.
    const needed = Math.ceil(maxRequestsPerSecond / batchSize);
    const mapping = new EventSourceMapping(this, 'ChangedAdverts', {
      target: this.function.function,
      eventSourceArn: queue.queueArn,
      batchSize,
      reportBatchItemFailures: true,
      maxConcurrency: Math.min(
        Math.max(needed, fewestAtOnce),
        reservedConcurrency.fanOut ?? maxAtOnce,
        maxAtOnce,
      ),
    });
    // When the mapping is made, Lambda checks that the function may receive from the queue.
    mapping.node.addDependency(this.function.role);
  }
}
