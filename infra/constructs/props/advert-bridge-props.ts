import type { RemovalPolicy } from 'aws-cdk-lib';
import type { ISecurityGroup, IVpc, SubnetSelection } from 'aws-cdk-lib/aws-ec2';
import type { IEventBus } from 'aws-cdk-lib/aws-events';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { ITopic } from 'aws-cdk-lib/aws-sns';
import type { FeedName } from '../../../shared/contract/feeds.ts';

/** What a bridge reads, how often, and which events it publishes. */
export interface AdvertBridgeSettings {
  /** URL of the partner service, such as `https://partner.example`; plain http only for loopback. */
  readonly partnerBaseUrl: string;
  /**
   * How often each feed is polled, in seconds, 1 to 60. Below 60 one scheduled run polls several times, and its Lambda time is
   * paid for.
   *
   * @defaultValue 60
   */
  readonly pollSeconds?: number;
  /**
   * Rate budget of the whole bridge, all functions together, in requests a second, 0.1 to 100,000.
   *
   * @defaultValue 10
   */
  readonly maxRequestsPerSecond?: number;
  /**
   * Which feeds are polled; `adverts` is always among them.
   *
   * @defaultValue adverts alone
   */
  readonly feeds?: readonly FeedName[];
  /**
   * Scope that a partner account must grant, words separated by spaces.
   *
   * @defaultValue `v2 read write`
   */
  readonly requiredScope?: string;
  /**
   * Language of the service's answers, such as `pl`.
   *
   * @defaultValue what the service answers in by itself
   */
  readonly acceptLanguage?: string;
  /**
   * How far before the last success reading starts over, in seconds, 10 to 86,400. Must exceed the service's visibility delay.
   *
   * @defaultValue 300
   */
  readonly overlapSeconds?: number;
  /**
   * How long after a "not found" an advert is fetched again before it is published as unavailable, in seconds, 0 to 900;
   * 0: at once.
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
   * The longest pause that the service can impose with `Retry-After`, in seconds, 1 to 86,400. A longer one raises an alarm.
   *
   * @defaultValue 3600
   */
  readonly maxPauseSeconds?: number;
  /**
   * Paths in an advert, such as `price.value`, whose values its events carry in `data.fields`; at most 50.
   *
   * @defaultValue none
   */
  readonly eventFields?: readonly string[];
  /**
   * An event is published only where an advert comes to one of these statuses or leaves one.
   *
   * @defaultValue all are published
   */
  readonly publishStatuses?: readonly string[];
  /**
   * Events about adverts are published only for these partner accounts.
   *
   * @defaultValue for all
   */
  readonly publishPartnerAccounts?: readonly string[];
  /**
   * Whether messages and events carry a `traceparent` (W3C Trace Context).
   *
   * @defaultValue false
   */
  readonly tracing?: boolean;
  /**
   * How many adverts of each partner account are compared with the service once a day.
   *
   * @defaultValue 0: none, and no function for it
   */
  readonly auditSample?: number;
}

/** Reserved concurrency of each function, in executions at once. */
export interface ReservedConcurrency {
  /** @defaultValue none is reserved */
  readonly drain?: number;
  /**
   * At least 2, which is the least that SQS hands batches to. The event source mapping asks for no more than this.
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

/** What {@link AdvertBridge} is made with: `partnerBaseUrl`, and whatever is to be other than usual. */
export interface AdvertBridgeProps extends AdvertBridgeSettings {
  /**
   * What every fixed name of the bridge carries: secrets, alarms, schema registry, the dimension of its metrics, dashboard. 1 to 64
   * letters, digits and hyphens, beginning with a letter; one bridge of the name in an AWS account and region.
   *
   * @defaultValue the name of the stack that it stands in
   */
  readonly name?: string;
  /**
   * A bus that is there already, other than the default bus: the bridge publishes there and makes nothing on it. Who may put rules on
   * it, and whether it has an archive to replay from, is for its owner to say.
   *
   * @defaultValue a bus of its own, named {@link AdvertBridgeProps.busName}, with an archive of 90 days
   */
  readonly bus?: IEventBus;
  /**
   * Name of the bus that the bridge makes. A second bridge in the same AWS account and region needs another one.
   *
   * @defaultValue `adverts`
   */
  readonly busName?: string;
  /**
   * AWS accounts, by their 12-digit IDs, whose teams may put rules of their own on the bus that the bridge makes; at most 100.
   *
   * @defaultValue none but this one
   */
  readonly subscriberAccounts?: readonly string[];
  /**
   * The same for every account of an AWS organization, such as `o-a1b2c3d4e5`.
   *
   * @defaultValue none
   */
  readonly organizationId?: string;
  /**
   * Name of a restored table in place of the one that the bridge makes.
   *
   * @defaultValue a table of its own
   */
  readonly feedStateTable?: string;
  /**
   * Name of a restored table in place of the one that the bridge makes.
   *
   * @defaultValue a table of its own
   */
  readonly advertStatusTable?: string;
  /**
   * Who receives the alarms by mail, by a topic of the bridge's own, with a key for $1 a month.
   *
   * @defaultValue nobody
   */
  readonly alarmEmail?: string;
  /**
   * A topic that gets every alarm and its end. Its policy, and its key if it is encrypted, have to let CloudWatch publish.
   *
   * @defaultValue none
   */
  readonly alarmTopic?: ITopic;
  /**
   * Whether there is a CloudWatch dashboard under the bridge's name, for $3 a month.
   *
   * @defaultValue false
   */
  readonly dashboard?: boolean;
  /**
   * KMS key of what the bridge stores: both tables, both queues, the secrets. Whoever runs commands needs it too. Its policy has to
   * let the AWS account's own policies decide, as that of a key made by CDK does.
   *
   * @defaultValue keys that AWS owns, at no cost
   */
  readonly encryptionKey?: IKey;
  /**
   * Network that the functions run in. They need a way to the partner service and to AWS: docs/operate/construct.md#in-a-vpc.
   *
   * @defaultValue none of yours: Lambda's own, with access to the internet
   */
  readonly vpc?: IVpc;
  /** @defaultValue private subnets with a way out (NAT) */
  readonly vpcSubnets?: SubnetSelection;
  /** @defaultValue one of the bridge's own, which lets it out to port 443 and to the partner service's, and nobody in */
  readonly securityGroups?: readonly ISecurityGroup[];
  /** @defaultValue none is reserved: new AWS accounts may have only ten executions in all */
  readonly reservedConcurrency?: ReservedConcurrency;
  /**
   * How long the functions' logs are kept.
   *
   * @defaultValue `RetentionDays.ONE_MONTH`
   */
  readonly logRetention?: RetentionDays;
  /**
   * What becomes of the logs when the bridge is deleted.
   *
   * @defaultValue `RemovalPolicy.DESTROY`
   */
  readonly logRemovalPolicy?: RemovalPolicy;
  /**
   * What becomes of tables, queues and the application's secret when the bridge is deleted. `DESTROY` also takes away the
   * tables' protection against deletion: for stacks that come and go.
   *
   * @defaultValue `RemovalPolicy.RETAIN`
   */
  readonly removalPolicy?: RemovalPolicy;
  /**
   * `emulator` leaves out the resource types that a local emulator does not know.
   *
   * @defaultValue `aws`
   */
  readonly target?: 'aws' | 'emulator';
}
