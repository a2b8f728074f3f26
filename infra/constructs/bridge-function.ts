import { AspectPriority, Aspects, Duration } from 'aws-cdk-lib';
import {
  type IRole,
  Policy,
  PolicyStatement,
  type PolicyStatementProps,
  Role,
  ServicePrincipal,
} from 'aws-cdk-lib/aws-iam';
import {
  ApplicationLogLevel,
  Architecture,
  Function as LambdaFunction,
  LoggingFormat,
  Runtime,
} from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Schedule, ScheduleExpression, ScheduleGroup, ScheduleTargetInput } from 'aws-cdk-lib/aws-scheduler';
import type { Construct, IConstruct } from 'constructs';
import { type FunctionName, type ResourceName, resourceKeys } from '../../shared/contract/environment.ts';
import { Grantee, type Parts, tokenReaderPathOf } from './grantee.ts';
import { grantNetwork } from './network.ts';
import { handlerCode, stageOf } from './package-files.ts';
import { environmentOf } from './props/bridge-config.ts';
import { rendered } from './props/resources.ts';

export interface BridgeFunctionProps {
  readonly name: FunctionName;
  readonly description: string;
  readonly timeout: Duration;
  /** Of partner accounts. @default true */
  readonly readsTokens?: boolean;
}

/** The minimum of EventBridge Scheduler and Lambda. */
const maxEventAge = Duration.minutes(1);

/** The function of a stage. For each resource that it uses, call a `grant…` of {@link Grantee}. */
export class BridgeFunction extends Grantee {
  readonly lambda: LambdaFunction;
  readonly role: IRole;
  readonly logGroup: LogGroup;
  #secrets: Policy | undefined;

  constructor(scope: Construct, parts: Parts, props: BridgeFunctionProps) {
    const { name, description, timeout, readsTokens = true } = props;
    super(scope, `${name[0]?.toUpperCase()}${name.slice(1)}`, parts);
    const { settings } = parts;
    this.logGroup = new LogGroup(this, 'Logs', {
      retention: settings.logRetention,
      removalPolicy: settings.logRemovalPolicy,
    });
    // Not CDK's default role: it has AWS's managed policy, which allows writing to every log group.
    this.role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
      ...(readsTokens && { path: tokenReaderPathOf(settings) }),
    });
    if (readsTokens) parts.tokenReaders.push(this.role);
    this.addStatement('Logs', {
      actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
      resources: [this.logGroup.logGroupArn],
    });
    const { reservedConcurrency, vpc, vpcSubnets, securityGroups } = settings;
    this.lambda = new LambdaFunction(this, 'Function', {
      description,
      code: handlerCode(stageOf(name)),
      handler: 'index.handler',
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      // This is enough: the functions mostly wait for HTTP answers, and twice the memory would double the price of
      // waiting.
      memorySize: 256,
      timeout,
      role: this.role,
      logGroup: this.logGroup,
      loggingFormat: LoggingFormat.JSON,
      applicationLogLevelV2: ApplicationLogLevel.INFO,
      environment: environmentOf(settings),
      reservedConcurrentExecutions: reservedConcurrency[name],
      ...(vpc && { vpc, vpcSubnets, securityGroups }),
    });
    if (vpc) grantNetwork(this);
    this.grantKey();
    this.#grantTracing();
  }

  /**
   * Only the code of this function may use the statement: not another function that is given the role, and nobody who
   * assumes it. The policy is separate, because the function depends on the role and its other policy.
   *
   * @see https://docs.aws.amazon.com/lambda/latest/dg/permissions-source-function-arn.html
   */
  override addSecretStatement(sid: string, statement: Omit<PolicyStatementProps, 'sid'>): this {
    const ArnEquals = { 'lambda:SourceFunctionArn': this.lambda.functionArn };
    this.#secrets ??= new Policy(this, 'Secrets', { roles: [this.role] });
    this.#secrets.addStatements(
      new PolicyStatement({ sid, ...statement, conditions: { ...statement.conditions, ArnEquals } }),
    );
    return this;
  }

  /**
   * An invocation that cannot start in time is dropped: the next run does the same work. CDK's own target for functions
   * puts its role into the stack instead of the bridge, and the role may invoke every version of the function.
   */
  runEvery(every: Duration, description: string): Schedule {
    const { functionArn, env } = this.lambda;
    this.lambda.configureAsyncInvoke({ retryAttempts: 0, maxEventAge });
    const group = ScheduleGroup.fromDefaultScheduleGroup(this, 'ScheduleGroup');
    const role = new Role(this, 'ScheduleRole', {
      // The condition cannot name a single schedule, only a group:
      // https://docs.aws.amazon.com/scheduler/latest/UserGuide/cross-service-confused-deputy-prevention.html
      assumedBy: new ServicePrincipal('scheduler.amazonaws.com', {
        conditions: {
          StringEquals: { 'aws:SourceAccount': env.account },
          ArnEquals: { 'aws:SourceArn': group.scheduleGroupArn },
        },
      }),
    });
    const invoke = new PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [functionArn] });
    const granted = role.addToPrincipalPolicy(invoke).policyDependable;
    const made = new Schedule(this, 'Schedule', {
      description,
      schedule: ScheduleExpression.rate(every),
      target: {
        bind: () => ({
          arn: functionArn,
          role,
          input: ScheduleTargetInput.fromObject({}),
          retryPolicy: { maximumRetryAttempts: 0, maximumEventAgeInSeconds: maxEventAge.toSeconds() },
        }),
      },
    });
    if (granted) made.node.addDependency(granted);
    return made;
  }

  /** Lambda refuses a function with tracing, as an Aspect may switch it on, whose role may not write traces. */
  #grantTracing(): void {
    const visit = (node: IConstruct) => {
      if (node !== this.lambda.node.defaultChild) return;
      if (rendered(node)?.Properties.TracingConfig?.Mode !== 'Active') return;
      const actions = ['xray:PutTraceSegments', 'xray:PutTelemetryRecords'];
      this.addStatement('Tracing', { actions, resources: ['*'] }).acknowledgeWildcard(
        '*',
        'X-Ray has no resources to name.',
      );
    };
    // After those of the app, also if these have a priority of their own.
    Aspects.of(this).add({ visit }, { priority: AspectPriority.READONLY });
  }

  override addEnvironment(key: ResourceName, value: string): this {
    this.lambda.addEnvironment(resourceKeys[key], value);
    return this;
  }
}
