import { AdvertSubscription } from 'advert-bridge-kit/cdk';
import { App, Stack } from 'aws-cdk-lib';

const env = { account: '222222222222', region: 'eu-central-1' };

export const stack = new Stack(new App(), 'Search', { env });

export const { queue } = new AdvertSubscription(stack, 'Search', {
  busArn: 'arn:aws:events:eu-central-1:111111111111:event-bus/adverts',
});
