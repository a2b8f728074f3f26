import { Duration } from 'aws-cdk-lib';
import { EventBus as Bus, type IEventBus } from 'aws-cdk-lib/aws-events';
import { Construct } from 'constructs';
import { eventSource } from '../../shared/contract/names.ts';
import type { BridgeConfig } from './props/bridge-config.ts';
import { SubscriberPolicy } from './subscriber-policy.ts';

/** A team that finds out within a quarter that it handled events wrongly can replay them; some cents a million. */
const archivedFor = Duration.days(90);

/** The bus that subscribers put their rules on, who may do so, and an archive to replay from. */
export class EventBus extends Construct {
  readonly bus: IEventBus;

  constructor(
    scope: Construct,
    id: string,
    settings: Pick<BridgeConfig, 'bus' | 'busName' | 'feeds' | 'subscriberAccounts' | 'organizationId'>,
  ) {
    super(scope, id);
    if (settings.bus) {
      // Nothing is made on a bus that is somebody else's.
      this.bus = settings.bus;
      return;
    }
    const bus = new Bus(this, 'Bus', {
      eventBusName: settings.busName,
      description: 'Status changes of adverts at the partner service',
    });
    bus.archive('Archive', {
      description: 'Everything that the advert bridge published',
      eventPattern: { source: [eventSource] },
      retention: archivedFor,
    });
    new SubscriberPolicy(this, 'Subscribers', { ...settings, bus });
    this.bus = bus;
  }
}
