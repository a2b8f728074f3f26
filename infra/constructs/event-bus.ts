import { Duration } from 'aws-cdk-lib';
import { EventBus as Bus, type IEventBus } from 'aws-cdk-lib/aws-events';
import { Construct } from 'constructs';
import { eventSource } from '../../shared/contract/names.ts';
import type { BridgeConfig } from './props/bridge-config.ts';
import { SubscriberPolicy } from './subscriber-policy.ts';

/**
 * A team that notices within a quarter that it has handled events wrongly can replay them. The archive costs some cents
 * per million events.
 */
const archivedFor = Duration.days(90);

/** The bus for subscribers' rules, its policy, and an archive to replay from. */
export class EventBus extends Construct {
  readonly bus: IEventBus;

  constructor(
    scope: Construct,
    id: string,
    settings: Pick<BridgeConfig, 'bus' | 'busName' | 'subscriberAccounts' | 'organizationId'>,
  ) {
    super(scope, id);
    if (settings.bus) {
      // The bridge creates no resource on a bus that it does not own.
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
