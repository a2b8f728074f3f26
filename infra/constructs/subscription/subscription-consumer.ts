import * as cdk from 'aws-cdk-lib';
import { type CfnResource, Lazy, RemovalPolicy } from 'aws-cdk-lib';
import { AttributeType, BillingMode, type ITable, Table } from 'aws-cdk-lib/aws-dynamodb';
import type { CfnEventSourceMapping, Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { Construct, IConstruct } from 'constructs';
import { addMark, reservedOf } from '../props/resources.ts';
import { throttledFaults } from './subscription-props.ts';

/** @see https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-scaling.html */
const mostAtOnce = 1000;

export function connectConsumer(
  scope: Construct,
  consumer: LambdaFunction,
  queue: IQueue,
  deadLetters: IQueue,
  positions: ITable | 'own-write' | undefined,
): ITable | undefined {
  addMark(consumer, 'advert-bridge:subscription', scope);
  consumer.addEventSource(new SqsEventSource(queue, { reportBatchItemFailures: true }));
  const mapping = consumer.node
    .findAll()
    .map((node) => node as CfnEventSourceMapping)
    .find(({ eventSourceArn }) => eventSourceArn === queue.queueArn);
  // Without this limit, SQS would hand over more batches than may run: each counts as a receive of its messages. It is
  // known late, because an Aspect may reserve concurrency.
  const produce = () => {
    const reserved = reservedOf(consumer);
    return reserved === undefined ? undefined : { maximumConcurrency: Math.min(reserved, mostAtOnce) };
  };
  if (mapping) mapping.scalingConfig = Lazy.any({ produce });
  scope.node.addValidation({ validate: () => throttledFaults(consumer).map((fault) => fault.join(': ')) });
  consumer.addEnvironment('DEAD_LETTER_QUEUE_URL', deadLetters.queueUrl);
  deadLetters.grantSendMessages(consumer);
  if (positions === 'own-write') return undefined;
  const table = positions ?? positionsTable(scope);
  consumer.addEnvironment('POSITIONS_TABLE_NAME', table.tableName);
  table.grant(consumer, 'dynamodb:UpdateItem');
  // `grant` with single actions covers only the table, not its key.
  table.encryptionKey?.grantEncryptDecrypt(consumer);
  return table;
}

/** The table is kept when the stack is deleted: without it, old events would count as new. */
function positionsTable(scope: Construct): Table {
  const table = new Table(scope, 'Positions', {
    partitionKey: { name: 'pk', type: AttributeType.STRING },
    billingMode: BillingMode.PAY_PER_REQUEST,
    removalPolicy: RemovalPolicy.RETAIN,
  });
  acknowledge(
    table,
    'AwsSolutions-DDB3',
    'A replay of the archive restores the positions, and an older copy of them would do harm.',
  );
  return table;
}

/** For cdk-nag 3; with a CDK that has no validations yet, there can only be cdk-nag 2, which reads metadata. */
export function acknowledge(construct: IConstruct, id: string, reason: string): void {
  const { Validations } = cdk as Partial<typeof cdk>;
  if (Validations) Validations.of(construct).acknowledge({ id, reason });
  else
    (construct.node.defaultChild as CfnResource).addMetadata('cdk_nag', {
      rules_to_suppress: [{ id, reason }],
    });
}
