/** Synthesizes each kind of subscription, in a project with the CDK version under test. */
const { AdvertSubscription } = require('advert-bridge-kit/cdk');
const { App, Duration, Stack } = require('aws-cdk-lib');
const { Template } = require('aws-cdk-lib/assertions');
const { EventBus } = require('aws-cdk-lib/aws-events');
const { Code, Function: LambdaFunction, Runtime } = require('aws-cdk-lib/aws-lambda');
const { Queue } = require('aws-cdk-lib/aws-sqs');

const stack = new Stack(new App(), 'Search', { env: { account: '222222222222', region: 'eu-central-1' } });
const bus = EventBus.fromEventBusName(stack, 'Bus', 'adverts');
const aFunction = (id) =>
  new LambdaFunction(stack, id, {
    ...{ runtime: Runtime.NODEJS_18_X, handler: 'index.handler', code: Code.fromInline('exports.x = 1') },
    timeout: Duration.seconds(9),
  });
const queueOf = (account) =>
  Queue.fromQueueArn(stack, account, `arn:aws:sqs:eu-central-1:${account}:adverts`);

new AdvertSubscription(stack, 'Consumed', { bus, consumer: aFunction('Consumer') });
new AdvertSubscription(stack, 'Called', { bus, target: aFunction('Target') });
const own = queueOf('222222222222');
new AdvertSubscription(stack, 'Own', { bus, target: own });
new AdvertSubscription(stack, 'Far', { bus, target: queueOf('333333333333') });
new AdvertSubscription(stack, 'Received', { bridgeAccount: '111111111111' });
const customBusArn = `arn:aws:events:eu-central-1:111111111111:event-busv2/adverts/${'a1b2c'.repeat(5)}`;
new AdvertSubscription(stack, 'Ordered', { customBusArn, from: 'oldest', consumer: aFunction('Orderly') });
new AdvertSubscription(stack, 'Unordered', { customBusArn, target: own });
const { Resources } = Template.fromStack(stack).toJSON();
process.stdout.write(`${Object.keys(Resources).length} resources\n`);
