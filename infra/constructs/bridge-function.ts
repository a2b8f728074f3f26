import type { Duration } from 'aws-cdk-lib';
import { type IRole, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import {
  ApplicationLogLevel,
  Architecture,
  Function as LambdaFunction,
  LoggingFormat,
  Runtime,
} from 'aws-cdk-lib/aws-lambda';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import {
  type EnvironmentName,
  environmentKeys,
  type FunctionName,
} from '../../shared/contract/environment.ts';
import { Grantee } from './grantee.ts';
import { handlerCode, type Stage } from './handler-code.ts';
import { usesNetwork } from './network.ts';
import type { BridgeConfig } from './props/bridge-config.ts';
import { environmentOf } from './props/environment.ts';

export interface BridgeFunctionProps {
  /** Its name in shared/contract/environment.ts, which lists its environment variables. */
  readonly name: FunctionName;
  readonly description: string;
  readonly stage: Stage;
  readonly timeout: Duration;
  /** Path of its role, for policies that name roles by path. */
  readonly rolePath?: string;
  readonly settings: BridgeConfig;
}

/**
 * A function of the bridge, with everything that all functions have in common. Its environment initially contains the
 * settings from shared/contract/environment.ts, and it may write its own logs. For each resource that it uses, call
 * `knows` (sets the variable that names the resource) together with `may` (grants access). grants.ts contains the pairs
 * that several functions need.
 */
export class BridgeFunction extends Grantee {
  readonly function: LambdaFunction;
  readonly settings: BridgeConfig;
  readonly role: IRole;
  readonly logGroup: LogGroup;

  constructor(scope: Construct, id: string, props: BridgeFunctionProps) {
    super(scope, id);
    const { name, description, stage, timeout, rolePath, settings } = props;
    this.settings = settings;
    this.logGroup = new LogGroup(this, 'Logs', {
      retention: settings.logRetention,
      removalPolicy: settings.logRemovalPolicy,
    });
    // Not CDK's default role: it has AWS's managed policy, which allows writing to every log group.
    this.role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
      ...(rolePath && { path: rolePath }),
    });
    this.may('Logs', {
      actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
      resources: [this.logGroup.logGroupArn],
    });
    const { reservedConcurrency, vpc, vpcSubnets, securityGroups } = settings;
    this.function = new LambdaFunction(this, 'Function', {
      description,
      code: handlerCode(stage),
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
      environment: { NODE_OPTIONS: '--enable-source-maps', ...environmentOf(name, settings) },
      reservedConcurrentExecutions: reservedConcurrency[name],
      ...(vpc && { vpc, vpcSubnets, securityGroups }),
    });
    if (vpc) usesNetwork(this);
    this.usesKey();
  }

  /** Sets an environment variable to the name of a resource. */
  knows(key: EnvironmentName, value: string): this {
    this.function.addEnvironment(environmentKeys[key], value);
    return this;
  }
}
