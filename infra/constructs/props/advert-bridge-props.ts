import type { RemovalPolicy } from 'aws-cdk-lib';
import type { ISecurityGroup, IVpc, SubnetSelection } from 'aws-cdk-lib/aws-ec2';
import type { IEventBus } from 'aws-cdk-lib/aws-events';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { ITopic } from 'aws-cdk-lib/aws-sns';

/** What a bridge reads, how often, and which events it publishes. */
export interface AdvertBridgeSettings {
  /** URL of the partner service, such as `https://partner.example`; plain http only for loopback. */
  readonly partnerBaseUrl: string;
  /**
   * Seconds between two polls of a feed, 1 to 60. Below 60, one scheduled run polls several times, which costs more
   * Lambda time.
   *
   * @defaultValue 60
   */
  readonly pollSeconds?: number;
  /**
   * Request rate of the whole bridge, all functions together, in requests per second, 0.1 to 100,000.
   *
   * @defaultValue 10
   */
  readonly maxRequestsPerSecond?: number;
  /**
   * Scope that a partner account must grant, words separated by spaces.
   *
   * @defaultValue `v2 read write`
   */
  readonly requiredScope?: string;
  /**
   * Language of the service's answers, such as `pl`.
   *
   * @defaultValue the service's default language
   */
  readonly acceptLanguage?: string;
  /**
   * How many seconds before the last success the drain starts over after a rejected cursor, 10 to 86,400. Must exceed
   * the service's visibility delay.
   *
   * @defaultValue 300
   */
  readonly overlapSeconds?: number;
  /**
   * After a "not found", the bridge waits this many seconds, 0 to 900, and fetches the advert again before it publishes
   * it as unavailable. 0: no second fetch.
   *
   * @defaultValue 30
   */
  readonly confirmUnavailableSeconds?: number;
  /**
   * How long the bridge sends nothing after the service has blocked its address, in seconds, 1 to 86,400.
   *
   * @defaultValue 1800
   */
  readonly circuitSeconds?: number;
  /**
   * The longest pause that the bridge accepts from `Retry-After`, in seconds, 1 to 86,400. A longer one raises an
   * alarm.
   *
   * @defaultValue 3600
   */
  readonly maxPauseSeconds?: number;
  /**
   * Paths in an advert, such as `price.value`; events contain their values in `data.fields`. At most 50.
   *
   * @defaultValue none
   */
  readonly eventFields?: readonly string[];
  /**
   * An event is published only if an advert enters or leaves one of these statuses.
   *
   * @defaultValue all are published
   */
  readonly publishStatuses?: readonly string[];
  /**
   * Events about adverts are published only if they belong to these partner accounts.
   *
   * @defaultValue all partner accounts
   */
  readonly publishPartnerAccounts?: readonly string[];
  /**
   * How many adverts of each partner account are compared with the service once a day.
   *
   * @defaultValue 0: no advert is compared, and the audit function is not created
   */
  readonly auditSample?: number;
}

/** Reserved concurrency of each function: the number of concurrent executions. */
export interface ReservedConcurrency {
  /** @defaultValue none is reserved */
  readonly drain?: number;
  /**
   * At least 2, the minimum that SQS allows as the maximum concurrency of an event source mapping. The bridge's mapping
   * uses at most this number.
   *
   * @defaultValue none is reserved
   */
  readonly fanOut?: number;
  /** @defaultValue none is reserved */
  readonly refreshToken?: number;
  /** @defaultValue none is reserved */
  readonly connect?: number;
  /** @defaultValue none is reserved */
  readonly audit?: number;
}

/** Properties of an {@link AdvertBridge}. Only `partnerBaseUrl` is required. */
export interface AdvertBridgeProps extends AdvertBridgeSettings {
  /**
   * Name of the bridge, and part of every fixed name: secrets, alarms, schema registry, the dimension of its metrics,
   * dashboard. 1 to 64 letters, digits and hyphens, beginning with a letter. It must be unique in an AWS account and
   * region.
   *
   * @defaultValue the name of the stack that contains the bridge
   */
  readonly name?: string;
  /**
   * An existing bus, other than the default bus. The bridge publishes events there and creates no resource on it. The
   * owner of the bus decides who may put rules on it, and whether it has an archive to replay from.
   *
   * @defaultValue a new bus, named {@link AdvertBridgeProps.busName}, with an archive of 90 days
   */
  readonly bus?: IEventBus;
  /**
   * Name of the bus that the bridge creates. A second bridge in the same AWS account and region needs a different name.
   *
   * @defaultValue `adverts`
   */
  readonly busName?: string;
  /**
   * 12-digit IDs of AWS accounts whose teams may put rules on the bus that the bridge creates; at most 100.
   *
   * @defaultValue only the bridge's own AWS account
   */
  readonly subscriberAccounts?: readonly string[];
  /**
   * ID of an AWS organization, such as `o-a1b2c3d4e5`. Teams in all of its accounts may put rules on the bus.
   *
   * @defaultValue none
   */
  readonly organizationId?: string;
  /**
   * Name of a restored table that replaces the bridge's own feed-state table.
   *
   * @defaultValue a new table
   */
  readonly feedStateTable?: string;
  /**
   * Name of a restored table that replaces the bridge's own advert-status table.
   *
   * @defaultValue a new table
   */
  readonly advertStatusTable?: string;
  /**
   * Email address that receives the alarms, through an SNS topic that the bridge creates, with a KMS key for $1 a
   * month.
   *
   * @defaultValue nobody
   */
  readonly alarmEmail?: string;
  /**
   * An SNS topic that receives every alarm and its end. Its policy, and its key if it is encrypted, must allow
   * CloudWatch to publish.
   *
   * @defaultValue none
   */
  readonly alarmTopic?: ITopic;
  /**
   * Whether to create a CloudWatch dashboard with the bridge's name, for $3 a month.
   *
   * @defaultValue false
   */
  readonly dashboard?: boolean;
  /**
   * KMS key that encrypts what the bridge stores: both tables, both queues, the secrets. Operators who run commands
   * need permission to use it too. Its key policy must allow IAM policies of the AWS account to grant access, as the
   * policy of a key created by CDK does.
   *
   * @defaultValue keys owned by AWS, at no cost
   */
  readonly encryptionKey?: IKey;
  /**
   * VPC in which the functions run. They must be able to reach the partner service and AWS:
   * docs/operate/construct.md#in-a-vpc.
   *
   * @defaultValue no VPC: the functions run in Lambda's own network, with access to the internet
   */
  readonly vpc?: IVpc;
  /** @defaultValue private subnets with outbound access (NAT) */
  readonly vpcSubnets?: SubnetSelection;
  /**
   * @defaultValue a new security group, which allows outbound traffic to port 443 and to the partner service's port,
   * and no inbound traffic
   */
  readonly securityGroups?: readonly ISecurityGroup[];
  /** @defaultValue none is reserved: a new AWS account may be limited to ten concurrent executions in total */
  readonly reservedConcurrency?: ReservedConcurrency;
  /**
   * How long the functions' logs are kept.
   *
   * @defaultValue `RetentionDays.ONE_MONTH`
   */
  readonly logRetention?: RetentionDays;
  /**
   * Whether the logs are kept when the bridge is deleted.
   *
   * @defaultValue `RemovalPolicy.DESTROY`
   */
  readonly logRemovalPolicy?: RemovalPolicy;
  /**
   * Whether tables, queues and the application's secret are kept when the bridge is deleted. `DESTROY` also removes the
   * tables' deletion protection; use it for temporary stacks.
   *
   * @defaultValue `RemovalPolicy.RETAIN`
   */
  readonly removalPolicy?: RemovalPolicy;
  /**
   * `emulator` omits resource types that a local emulator does not support.
   *
   * @defaultValue `aws`
   */
  readonly target?: 'aws' | 'emulator';
}
