import { AdvertSubscription } from 'advert-bridge-kit/cdk';
import { Stack } from 'aws-cdk-lib';
import { EventBus } from 'aws-cdk-lib/aws-events';

export class SearchStack extends Stack {
  readonly subscription = new AdvertSubscription(this, 'Search', {
    bus: EventBus.fromEventBusName(this, 'Adverts', 'adverts'),
  });
}
