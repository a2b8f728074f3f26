import { AdvertSubscription } from 'advert-bridge-kit/cdk';
import { App, CfnOutput, Stack } from 'aws-cdk-lib';
import { EventBus } from 'aws-cdk-lib/aws-events';
import { Queue } from 'aws-cdk-lib/aws-sqs';

const [bridgeAccount, yours, region] = ['111111111111', '222222222222', 'eu-central-1'];
const app = new App();

/** Your stack: queue, dead letters and alarm, and with a `consumer` all that it needs. */
const search = new Stack(app, 'Search', { env: { account: yours, region } });
const { queue } = new AdvertSubscription(search, 'Adverts', { bridgeAccount });
new CfnOutput(search, 'QueueArn', { value: queue.queueArn });

/** A stack of the bridge's team: the rule. */
const bridgeSide = new Stack(app, 'SearchRule', { env: { account: bridgeAccount, region } });
new AdvertSubscription(bridgeSide, 'Search', {
  bus: EventBus.fromEventBusName(bridgeSide, 'Bus', 'adverts'),
  target: Queue.fromQueueArn(bridgeSide, 'Queue', `arn:aws:sqs:${region}:${yours}:search-adverts`),
  statuses: ['active', 'sold'],
});
