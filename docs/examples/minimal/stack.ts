import { join } from 'node:path';
import { AdvertSubscription } from 'advert-bridge-kit/cdk';
import { CfnOutput, Duration, Stack, type StackProps } from 'aws-cdk-lib';
import { EventBus } from 'aws-cdk-lib/aws-events';
import { Runtime } from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import type { Construct } from 'constructs';

export class MinimalStack extends Stack {
  constructor(scope: Construct, id: string, props: StackProps & { readonly busName: string }) {
    super(scope, id, props);
    const consumer = new NodejsFunction(this, 'Handler', {
      entry: join(import.meta.dirname, 'handler.ts'),
      runtime: Runtime.NODEJS_24_X,
      timeout: Duration.seconds(30),
      bundling: { bundleAwsSDK: true },
    });
    const { queue, deadLetters, positions } = new AdvertSubscription(this, 'AdvertEvents', {
      bus: EventBus.fromEventBusName(this, 'Bus', props.busName),
      consumer,
    });
    new CfnOutput(this, 'QueueUrl', { value: queue.queueUrl });
    new CfnOutput(this, 'DeadLetterQueueUrl', { value: deadLetters.queueUrl });
    new CfnOutput(this, 'PositionsTableName', { value: positions?.tableName ?? '' });
  }
}
