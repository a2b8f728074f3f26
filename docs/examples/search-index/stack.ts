import { join } from 'node:path';
import { AdvertSubscription } from 'advert-bridge-kit/cdk';
import { CfnOutput, Duration, RemovalPolicy, Stack, type StackProps } from 'aws-cdk-lib';
import { AttributeType, BillingMode, Table } from 'aws-cdk-lib/aws-dynamodb';
import { EventBus } from 'aws-cdk-lib/aws-events';
import { Runtime } from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import type { Construct } from 'constructs';

/** Stores the status of every advert in its own table. */
export class SearchIndexStack extends Stack {
  constructor(scope: Construct, id: string, props: StackProps & { readonly busName: string }) {
    super(scope, id, props);
    const adverts = new Table(this, 'Adverts', {
      partitionKey: { name: 'pk', type: AttributeType.STRING },
      billingMode: BillingMode.PAY_PER_REQUEST,
      removalPolicy: RemovalPolicy.DESTROY, // A snapshot can fill the table again.
    });
    const indexer = new NodejsFunction(this, 'Indexer', {
      entry: join(import.meta.dirname, 'indexer.ts'),
      runtime: Runtime.NODEJS_24_X,
      timeout: Duration.seconds(30),
      environment: { TABLE_NAME: adverts.tableName },
      bundling: { bundleAwsSDK: true },
    });
    adverts.grant(indexer, 'dynamodb:UpdateItem');
    const subscription = new AdvertSubscription(this, 'AdvertEvents', {
      bus: EventBus.fromEventBusName(this, 'Bus', props.busName),
      consumer: indexer,
      positions: 'own-write',
    });

    new CfnOutput(this, 'TableName', { value: adverts.tableName });
    new CfnOutput(this, 'QueueUrl', { value: subscription.queue.queueUrl });
    new CfnOutput(this, 'DeadLetterQueueUrl', { value: subscription.deadLetters.queueUrl });
  }
}
