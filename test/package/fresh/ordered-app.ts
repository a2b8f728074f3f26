import { AdvertSubscription } from 'advert-bridge-kit/cdk';
import { App, Duration, Stack } from 'aws-cdk-lib';
import { Runtime } from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';

// Outside of this project, whose modules are ES modules: what Lambda gets is not.
const app = new App({ outdir: '../ordered-assembly' });
const stack = new Stack(app, 'Search', { env: { account: '222222222222', region: 'eu-central-1' } });
const consumer = new NodejsFunction(stack, 'Handler', {
  entry: 'handler.ts',
  runtime: Runtime.NODEJS_24_X,
  timeout: Duration.seconds(30),
  bundling: { bundleAwsSDK: true },
});
new AdvertSubscription(stack, 'Adverts', {
  customBusArn: `arn:aws:events:eu-central-1:111111111111:event-busv2/adverts/${'a1b2c'.repeat(5)}`,
  from: 'oldest',
  consumer,
});
const { template } = app.synth().getStackByName('Search');
console.log(JSON.stringify(template.Resources));
