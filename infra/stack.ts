import { Stack } from 'aws-cdk-lib';
import { Topic } from 'aws-cdk-lib/aws-sns';
import type { Construct } from 'constructs';
import { eventSource } from '../shared/contract/names.ts';
import { AdvertBridge } from './advert-bridge.ts';
import type { StackSettings } from './constructs/props/stack-settings.ts';

export class AdvertBridgeStack extends Stack {
  constructor(scope: Construct, settings: StackSettings) {
    const { stackName, alarmTopicArn, ...props } = settings;
    super(scope, stackName, {
      description: 'Polls the change feed of a partner service and publishes the status changes of adverts',
      tags: { application: eventSource },
      // Other teams depend on its events, so on AWS the stack must not be deleted in a single step.
      terminationProtection: settings.target === 'aws',
    });
    const alarmTopic = alarmTopicArn && { alarmTopic: Topic.fromTopicArn(this, 'Pager', alarmTopicArn) };
    // CDK omits the ID `Default` from logical IDs, so that these, and the names made from them, are the same as in
    // earlier versions.
    new AdvertBridge(this, 'Default', { ...props, ...alarmTopic });
  }
}
