import { CfnResource, Names, Stack } from 'aws-cdk-lib';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { type AdvertFilter, filterOf } from './subscription-pattern.ts';
import { sendingRole } from './subscription-target.ts';

const type = 'AWS::EventsV2::Subscriber';

export interface CustomSubscriberProps {
  readonly customBusArn: string;
  readonly from: string;
  readonly filter: AdvertFilter;
  readonly target: IQueue;
  /** Receives a record, without the event, of what could not be delivered. */
  readonly undelivered: IQueue;
  readonly retryPolicy: { readonly maximumRetryAttempts: number; readonly maximumEventAgeInSeconds: number };
}

/**
 * A subscriber on the Custom Event Bus, with the role by which EventBridge sends to its queue. The CDK has a construct for
 * it only from 2.272 on, and the kit accepts much older ones.
 *
 * @see https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-custom-bus-subscribers.html
 */
export function customSubscriber(scope: Construct, props: CustomSubscriberProps): CfnResource {
  const { customBusArn, from, filter, target, undelivered, retryPolicy } = props;
  const name = Names.uniqueResourceName(scope, { maxLength: 200, separator: '-' });
  const role = sendingRole(scope, 'Delivery', {
    description: 'Hands events of the advert bridge to a queue',
    source: `subscriber/${name}`,
    actions: ['sqs:SendMessage'],
    resources: [...new Set([target.queueArn, undelivered.queueArn])],
    key: target.encryptionMasterKey,
  });
  const before = Stack.of(scope)
    .node.findAll()
    .filter((each): each is CfnResource => CfnResource.isCfnResource(each) && each.cfnResourceType === type)
    .at(-1);
  const subscriber = new CfnResource(scope, 'Subscriber', {
    type,
    properties: {
      Name: name,
      EventBusArn: customBusArn,
      Description: 'Events of the advert bridge for this stack',
      Type: target.fifo ? 'FIFO' : 'UNORDERED',
      FilterConfiguration: { Filters: [{ Scope: 'DATA', Pattern: filterOf(filter) }] },
      InvokeConfiguration: {
        TargetArn: target.queueArn,
        RoleArn: role.roleArn,
        ...(target.fifo && { SqsParameters: ofFifo }),
      },
      RetryPolicy: {
        MaxRetryAttempts: retryPolicy.maximumRetryAttempts,
        MaxEventAgeInSeconds: retryPolicy.maximumEventAgeInSeconds,
      },
      OnFailureConfiguration: { Arn: undelivered.queueArn },
      ...startingAt(from),
    },
  });
  subscriber.node.addDependency(role);
  // A bus makes one subscriber at a time.
  if (before) subscriber.node.addDependency(before);
  return subscriber;
}

/** Expressions that EventBridge evaluates for each event. */
const ofFifo = {
  MessageGroupId: '{% $events.SystemMetadata.EventGroupId %}',
  MessageDeduplicationId: '{% $events.Data.detail.metadata.eventId %}',
};

function startingAt(from: string): object {
  if (from === 'now') return { StartingPosition: 'LATEST' };
  const point =
    from === 'oldest'
      ? { PointType: 'HORIZON' }
      : { PointType: 'TIMESTAMP', StartingPoint: Math.floor(Date.parse(from) / 1000) };
  return { StartingPosition: 'POINT_IN_TIME', PointInTimeConfiguration: point };
}
