import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import type { IAlarm } from 'aws-cdk-lib/aws-cloudwatch';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';

/**
 * Sends alarms by email. CloudWatch may publish to an encrypted topic only if the key's policy allows it, and the
 * policy of AWS's own key for SNS cannot be changed. So the topic has its own key, for a dollar a month.
 *
 * @see https://docs.aws.amazon.com/sns/latest/dg/sns-key-management.html#compatibility-with-aws-services
 */
export class AlarmTopic extends Construct {
  readonly topic: Topic;

  constructor(
    scope: Construct,
    id: string,
    { alarms, email }: { readonly alarms: readonly IAlarm[]; readonly email: string },
  ) {
    super(scope, id);
    const ours = { StringEquals: { 'aws:SourceAccount': Stack.of(this).account } };
    const principals = [new ServicePrincipal('cloudwatch.amazonaws.com')];
    const key = new Key(this, 'Key', {
      description: 'Alarms of the advert bridge on their way to a mailbox',
      enableKeyRotation: true,
      pendingWindow: Duration.days(7),
      removalPolicy: RemovalPolicy.DESTROY,
    });
    key.addToResourcePolicy(
      new PolicyStatement({
        ...{ sid: 'Alarms', principals, actions: ['kms:Decrypt', 'kms:GenerateDataKey*'], conditions: ours },
        resources: ['*'], // In the policy of a key: this key.
      }),
    );
    this.topic = new Topic(this, 'Topic', { masterKey: key, enforceSSL: true });
    // Full names instead of a prefix: a bridge `Shop-2` in the same AWS account also has alarms whose names begin with
    // `Shop-`.
    const ownAlarms = { ArnEquals: { 'aws:SourceArn': alarms.map(({ alarmArn }) => alarmArn) } };
    // This policy replaces the default one, which lets the AWS account's alarms publish.
    this.topic.addToResourcePolicy(
      new PolicyStatement({
        ...{ sid: 'Alarms', principals, actions: ['sns:Publish'], conditions: { ...ours, ...ownAlarms } },
        resources: [this.topic.topicArn],
      }),
    );
    this.topic.addSubscription(new EmailSubscription(email));
  }
}
