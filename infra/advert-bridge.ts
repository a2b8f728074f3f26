import { CfnOutput, RemovalPolicy, Stack } from 'aws-cdk-lib';
import type { Alarm, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { AttributeType, BillingMode, type ITable, Table, TableEncryption } from 'aws-cdk-lib/aws-dynamodb';
import { EventBus, type IEventBus } from 'aws-cdk-lib/aws-events';
import { Grant, type IGrantable, type IRole } from 'aws-cdk-lib/aws-iam';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { Schedule } from 'aws-cdk-lib/aws-scheduler';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { type metrics, outputs, storeKeys } from '../shared/contract/names.ts';
import { CatchUp, stackArnOf } from './constructs/catch-up.ts';
import { ChangedAdverts } from './constructs/changed-adverts.ts';
import { CustomEventBus } from './constructs/custom-event-bus.ts';
import { eventBus, reserveSource } from './constructs/event-bus.ts';
import type { Parts } from './constructs/grantee.ts';
import { alarmsOf, metricsOf } from './constructs/monitoring/alarms.ts';
import { dashboard } from './constructs/monitoring/dashboard.ts';
import { withSecurityGroup } from './constructs/network.ts';
import { ownPackage } from './constructs/package-files.ts';
import type { AdvertBridgeProps } from './constructs/props/advert-bridge-props.ts';
import { type BridgeConfig, checkedConfig } from './constructs/props/bridge-config.ts';
import { hasCustomerKey, rendered } from './constructs/props/resources.ts';
import { schemaRegistry } from './constructs/schema-registry.ts';
import { applicationSecret } from './constructs/secrets.ts';
import { connectStage, drainStage, fanOutStage, refreshTokenStage } from './constructs/stages.ts';
import { AdvertSubscription } from './constructs/subscription/advert-subscription.ts';
import type { AdvertSubscriptionProps } from './constructs/subscription/subscription-props.ts';
import { leaveOutUnknown } from './emulator.ts';

/** Which events, from which of the bridge's buses, and their target. */
export interface SubscribeProps
  extends Omit<AdvertSubscriptionProps, 'bus' | 'bridgeAccount' | 'customBusArn' | 'from'> {
  /** @default - `'classic'`, if the bridge publishes there */
  readonly eventBus?: 'classic' | 'custom';
  /** With `eventBus: 'custom'`: where to begin, as in `AdvertSubscription`. */
  readonly from?: string;
}

/**
 * The whole bridge, for any stack: it polls the partner service and publishes the status changes of adverts on an event
 * bus.
 *
 *     const bridge = new AdvertBridge(this, 'Adverts', { partnerBaseUrl: 'https://partner.example' });
 *     bridge.subscribe(this, 'Search', { consumer: indexer });
 *
 * After the deployment, give the bridge its credentials with `advert-bridge application` and `connect`. The package
 * contains the bundled functions. To set a permissions boundary, use CDK's `PermissionsBoundary.of(bridge)`.
 *
 * @throws {AdvertBridgeError} with all faults of the properties, including names that another bridge of the app uses
 * @see docs/operate/construct.md
 */
export class AdvertBridge extends Construct {
  /** The bridge's name, which is part of its fixed names and unique in an AWS account and region. */
  readonly name: string;
  /** ARN of the Custom Event Bus, if `eventBuses` has one. */
  readonly customBusArn: string | undefined;
  readonly tables: {
    /** Partner accounts, the cursor of each feed, the rate budget, the books. */
    readonly feedState: ITable;
    /** The latest event of every advert. */
    readonly advertStatus: ITable;
  };
  /** FIFO queues. */
  readonly queues: {
    /** IDs that the feed listed and that fan-out will fetch. */
    readonly changedAdverts: Queue;
    /** Messages that SQS itself gave up; dead letters are rows: docs/operate/runbook.md#deadletters. */
    readonly deadLetters: Queue;
  };
  /** One of each stage. `connect` is invoked by `advert-bridge connect`. */
  readonly functions: {
    readonly drain: LambdaFunction;
    readonly fanOut: LambdaFunction;
    readonly refreshToken: LambdaFunction;
    readonly connect: LambdaFunction;
  };
  /** Each alarm has a section in docs/operate/runbook.md. Add more receivers with `addAlarmAction`. */
  readonly alarms: readonly Alarm[];
  /**
   * Metrics of the whole bridge, with a period of 5 minutes (`with({ period })` changes it). The statistic is the
   * maximum for lag, stopped accounts, dead letters and the latency of answers, and the sum for all others.
   */
  readonly metrics: Readonly<Record<keyof typeof metrics, Metric>>;
  /** The role for people who run `backfill`, `resync` and `audit`. */
  readonly catchUpRole: IRole;
  readonly #settings: BridgeConfig;
  readonly #bus: IEventBus | undefined;
  readonly #schedules: readonly [drain: Schedule, refreshToken: Schedule];

  constructor(scope: Construct, id: string, props: AdvertBridgeProps) {
    super(scope, id);
    const settings = withSecurityGroup(this, checkedConfig(this, props));
    const feedState = durableTable(this, 'FeedState', settings, settings.feedStateTable);
    const advertStatus = durableTable(this, 'AdvertStatus', settings, settings.advertStatusTable);
    const changedAdverts = new ChangedAdverts(this, 'ChangedAdverts', settings);
    const bus = eventBus(this, 'Events', settings);
    const customBus = settings.eventBuses.includes('custom')
      ? new CustomEventBus(this, 'CustomEvents', settings)
      : undefined;
    schemaRegistry(this, 'Schemas', settings);
    const tables = { feedState, advertStatus };
    const parts: Parts = { settings, ...tables, changedAdverts, bus, customBus, tokenReaders: [] };
    const refreshToken = refreshTokenStage(this, parts);
    const { lambda } = refreshToken.stage;
    const fanOut = fanOutStage(this, parts, lambda);
    const connect = connectStage(this, parts);
    applicationSecret(refreshToken.stage, settings, connect);
    const drain = drainStage(this, parts, lambda);
    const functions = {
      drain: drain.lambda,
      fanOut: fanOut.lambda,
      refreshToken: lambda,
      connect: connect.lambda,
    };
    const catchUp = new CatchUp(this, parts, functions);
    const publishers = [fanOut.role, refreshToken.stage.role, connect.role];
    if (bus && !settings.bus) reserveSource(new Construct(this, 'Publishers'), bus, publishers);
    customBus?.guard(publishers);
    const alarms = alarmsOf(this, 'Alarms', { settings, changedAdverts, ...functions });
    const customBusArn = customBus?.arn;
    if (settings.dashboard)
      dashboard(this, 'Glance', { settings, alarms, changedAdverts, functions, customBusArn });
    this.customBusArn = customBusArn;
    this.name = settings.name;
    this.#settings = settings;
    this.#bus = bus;
    this.tables = tables;
    this.queues = { changedAdverts: changedAdverts.queue, deadLetters: changedAdverts.deadLetters };
    this.functions = functions;
    this.alarms = alarms;
    this.metrics = metricsOf(settings);
    this.catchUpRole = catchUp.role;
    this.#schedules = [drain.schedule, refreshToken.schedule];
    // The schedules depend on the alarms, so that nothing runs unwatched.
    for (const each of this.#schedules) each.node.addDependency(...alarms);
    this.#addOutputs();
    if (!settings.encryptionKey) this.node.addValidation({ validate: () => this.#keysOfAspects() });
    if (settings.target === 'emulator') leaveOutUnknown(this);
  }

  /**
   * The classic bus on which events are published: a new one, or the one from the properties.
   *
   * @throws {Error} if the bridge publishes on the Custom Event Bus alone
   */
  get bus(): IEventBus {
    if (this.#bus) return this.#bus;
    throw new Error(`${this.node.path} publishes on the Custom Event Bus alone: use its customBusArn`);
  }

  /**
   * Subscribes to the events of this bridge: creates a rule or a subscriber, a queue and a dead-letter queue, and everything
   * that a `consumer` needs. Its alarm notifies the bridge's `alarmTopic`, if there is one.
   *
   * @param scope scope of the subscription; it may be in another stack of the app than the bridge
   * @throws {SubscriptionError} with all faults
   */
  subscribe(scope: Construct, id: string, props: SubscribeProps = {}): AdvertSubscription {
    const { eventBus = this.#bus ? 'classic' : 'custom', ...others } = props;
    const of = eventBus === 'custom' ? { customBusArn: this.#customBus() } : { bus: this.#busFor(scope, id) };
    const all = { ...others, ...of } as AdvertSubscriptionProps;
    const subscription = new AdvertSubscription(scope, id, all);
    if (this.#settings.alarmTopic) {
      const action = new SnsAction(this.#settings.alarmTopic);
      for (const alarm of subscription.alarms) {
        alarm.addAlarmAction(action);
        alarm.addOkAction(action);
      }
    }
    return subscription;
  }

  /**
   * For another stack, the bus by its name, with a dependency. A reference would become an export of this stack, which
   * could not be deployed any more once the subscription is removed. Earlier versions made that export: it stays while
   * there are subscriptions, so that a deployment to this version does not remove what is still imported.
   */
  #busFor(scope: Construct, id: string): IEventBus {
    const [own, other] = [Stack.of(this), Stack.of(scope)];
    if (this.#settings.bus || rootOf(own) === rootOf(other)) return this.bus;
    other.addStackDependency(own);
    own.exportValue(this.bus.eventBusName);
    const name = { service: 'events', resource: 'event-bus', resourceName: this.#settings.busName };
    return EventBus.fromEventBusArn(scope, `${id}Bus`, own.formatArn(name));
  }

  #customBus(): string {
    if (this.customBusArn !== undefined) return this.customBusArn;
    throw new Error(`${this.node.path} has no Custom Event Bus: add 'custom' to its eventBuses`);
  }

  /** Allows `grantee` what `advert-bridge status` needs: docs/operate/deploy.md#what-status-has-to-be-allowed. */
  grantRead(grantee: IGrantable): Grant {
    const grant = (actions: string[], resourceArns: string[]) =>
      Grant.addToPrincipal({ grantee, resourceArns, actions });
    const queues = Object.values(this.queues).map(({ queueArn }) => queueArn);
    const schedules = this.#schedules.map(({ scheduleArn }) => scheduleArn);
    const tables = Object.values(this.tables).map(({ tableArn }) => tableArn);
    const { connect: _connect, ...delivering } = this.functions;
    const functions = Object.values(delivering).map(({ functionArn }) => functionArn);
    this.#settings.encryptionKey?.grantDecrypt(grantee);
    if (this.customBusArn !== undefined) grant(['events:ListSubscribers'], [this.customBusArn]);
    return grant(['cloudformation:DescribeStacks'], [stackArnOf(this)])
      .combine(grant(['sqs:GetQueueAttributes'], queues))
      .combine(grant(['scheduler:GetSchedule'], schedules))
      .combine(grant(['lambda:GetFunctionConcurrency'], functions))
      .combine(grant(unnamed, ['*']))
      .combine(grant(['dynamodb:DescribeTable', 'dynamodb:GetItem'], tables))
      .combine(this.tables.feedState.grant(grantee, 'dynamodb:Query'));
  }

  /** No role may use a key that only an Aspect knows: AWS would deny every call, or lose what it could not encrypt. */
  #keysOfAspects(): string[] {
    const says = 'encryptionKey: an Aspect encrypts this with a key that the roles of the bridge may not use';
    const locked = this.node.findAll().filter(hasCustomerKey);
    return locked.map(({ node }) => `${says}. Give the bridge that key, or exempt ${node.path}`);
  }

  /** By these the command line finds the bridge. With its path in the stack, outputs of two bridges do not collide. */
  #addOutputs(): void {
    const { stackName } = Stack.of(this);
    const places = this.node.scopes.slice(Stack.of(this).node.scopes.length).map(({ node }) => node.id);
    const path = places.filter((id) => id !== 'Default').join('');
    const [drain, refreshToken] = this.#schedules;
    const values: Record<keyof typeof outputs, string | undefined> = {
      partnerBaseUrl: this.#settings.partnerBaseUrl,
      drainScheduleName: drain.scheduleName,
      refreshTokenScheduleName: refreshToken.scheduleName,
      eventBusName: this.#bus?.eventBusName,
      eventBusArn: this.#bus?.eventBusArn,
      customEventBusArn: this.customBusArn,
      queueUrl: this.queues.changedAdverts.queueUrl,
      deadLetterQueueUrl: this.queues.deadLetters.queueUrl,
      feedStateTableName: this.tables.feedState.tableName,
      advertStatusTableName: this.tables.advertStatus.tableName,
      drainFunctionName: this.functions.drain.functionName,
      fanOutFunctionName: this.functions.fanOut.functionName,
      refreshTokenFunctionName: this.functions.refreshToken.functionName,
      connectFunctionName: this.functions.connect.functionName,
      catchUpRoleArn: this.catchUpRole.roleArn,
      bridgeName: this.name,
      version: ownPackage.version,
      doctor: `advert-bridge doctor --stack ${path === '' ? stackName : `${stackName}/${this.name}`}`,
    };
    for (const [key, name] of Object.entries(outputs)) {
      const value = values[key as keyof typeof outputs];
      if (value === undefined) continue;
      const output = new CfnOutput(this, name, { value });
      output.overrideLogicalId(`${path.replace(/[^A-Za-z0-9]/g, '')}${name}`);
    }
  }
}

/** References within the same root are parameters of nested stacks, not exports. */
const rootOf = (stack: Stack): Stack => (stack.nestedStackParent ? rootOf(stack.nestedStackParent) : stack);

/** What `status` asks of services that name no resource in their permissions. */
const unnamed = [
  'lambda:ListEventSourceMappings',
  'cloudwatch:DescribeAlarms',
  'cloudwatch:GetMetricData',
  'events:ListRules',
  'secretsmanager:ListSecrets',
];

/**
 * A table that must not be lost. A key owned by DynamoDB encrypts it, unless another is given: it contains no secrets,
 * and any other key costs money with each request.
 *
 * @param existing name of a restored table to use, unchanged, instead of a new one
 */
function durableTable(
  scope: Construct,
  id: string,
  { encryptionKey, removalPolicy }: BridgeConfig,
  existing?: string,
): ITable {
  if (existing !== undefined) return Table.fromTableName(scope, id, existing);
  const table = new Table(scope, id, {
    partitionKey: { name: storeKeys.partitionKey, type: AttributeType.STRING },
    sortKey: { name: storeKeys.sortKey, type: AttributeType.STRING },
    billingMode: BillingMode.PAY_PER_REQUEST,
    ...(encryptionKey
      ? { encryption: TableEncryption.CUSTOMER_MANAGED, encryptionKey }
      : { encryption: TableEncryption.DEFAULT }),
    pointInTimeRecoverySpecification: { pointInTimeRecoveryEnabled: true },
    deletionProtection: removalPolicy !== RemovalPolicy.DESTROY,
    removalPolicy,
  });
  table.node.addValidation({
    validate() {
      const { DeletionPolicy, Properties } = rendered(table) ?? {};
      if (DeletionPolicy !== 'Delete' || !Properties?.DeletionProtectionEnabled) return [];
      const says =
        'removalPolicy: an Aspect, such as RemovalPolicies, has this table deleted with the stack, but its';
      return [`${says} deletion protection forbids it. Give the bridge removalPolicy: RemovalPolicy.DESTROY`];
    },
  });
  return table;
}
