import type { RemovalPolicy } from 'aws-cdk-lib';
import type { ISecurityGroup, IVpc, SubnetSelection } from 'aws-cdk-lib/aws-ec2';
import type { IEventBus } from 'aws-cdk-lib/aws-events';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { FunctionName } from '../../../shared/contract/environment.ts';
import type { AdvertBridgeSettings } from './settings.generated.ts';

/** Reserved concurrency of each function: the number of concurrent executions. */
export type ReservedConcurrency = Readonly<Partial<Record<FunctionName, number>>>;

/** Properties of an {@link AdvertBridge}. Only `partnerBaseUrl` is required. */
export interface AdvertBridgeProps extends AdvertBridgeSettings {
  /**
   * Name of the bridge, and part of every fixed name: secrets, alarms, schema registry, the dimension of its metrics,
   * dashboard. 1 to 64 letters, digits and hyphens, beginning with a letter. It must be unique in an AWS account and
   * region.
   *
   * @default - the name of the stack that contains the bridge
   */
  readonly name?: string;
  /**
   * An existing bus, other than the default bus. The bridge publishes events there and creates no resource on it. The
   * owner of the bus decides who may put rules on it, and whether it has an archive to replay from.
   *
   * @default - a new bus, named `busName`, with an archive of 90 days
   */
  readonly bus?: IEventBus;
  /**
   * An SNS topic that receives every alarm and its end. Its policy, if it has one, must allow CloudWatch to publish, and so
   * must its key, unless this app creates it.
   *
   * @default - none
   */
  readonly alarmTopic?: ITopic;
  /**
   * KMS key that encrypts what the bridge stores: both tables, both queues, the secrets; not an alias. Operators who run commands
   * need permission to use it too. Its key policy must allow IAM policies of the AWS account to grant access, as the
   * policy of a key created by CDK does.
   *
   * @default - keys owned by AWS, at no cost
   */
  readonly encryptionKey?: IKey;
  /**
   * VPC in which the functions run. They must be able to reach the partner service and AWS:
   * docs/operate/construct.md#in-a-vpc.
   *
   * @default - no VPC: the functions run in Lambda's own network, with access to the internet
   */
  readonly vpc?: IVpc;
  /** @default - private subnets with outbound access (NAT) */
  readonly vpcSubnets?: SubnetSelection;
  /**
   * Allows subnets that CDK takes for isolated, from which the partner service is reached in another way: over a transit
   * gateway, for example.
   *
   * @default false
   */
  readonly allowIsolatedSubnets?: boolean;
  /**
   * @default - a new security group, which allows outbound traffic to port 443 and to the partner service's port,
   * and no inbound traffic
   */
  readonly securityGroups?: readonly ISecurityGroup[];
  /**
   * For `fanOut` at least 2, the minimum that SQS allows as the maximum concurrency of an event source mapping. The
   * bridge's mapping uses at most this number.
   *
   * @default - none is reserved: a new AWS account may be limited to ten concurrent executions in total
   */
  readonly reservedConcurrency?: ReservedConcurrency;
  /**
   * How long the functions' logs are kept.
   *
   * @default `RetentionDays.ONE_MONTH`
   */
  readonly logRetention?: RetentionDays;
  /**
   * Whether the logs are kept when the bridge is deleted.
   *
   * @default `RemovalPolicy.DESTROY`
   */
  readonly logRemovalPolicy?: RemovalPolicy;
  /**
   * Whether tables, queues and the application's secret are kept when the bridge is deleted. `DESTROY` also removes the
   * tables' deletion protection; use it for temporary stacks.
   *
   * @default `RemovalPolicy.RETAIN`
   */
  readonly removalPolicy?: RemovalPolicy;
}
