import { join } from 'node:path';
import { type Duration, RemovalPolicy, Validations } from 'aws-cdk-lib';
import { type IRole, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { ApplicationLogLevel, Architecture, LoggingFormat, Runtime } from 'aws-cdk-lib/aws-lambda';
import { Charset, LogLevel, NodejsFunction, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import {
  type EnvironmentName,
  environmentKeys,
  type FunctionName,
  functionEnvironments,
} from '../../shared/contract/environment.ts';
import type { StackSettings } from '../../shared/contract/settings.ts';
import type { Grantee } from './grantee.ts';

const repository = join(import.meta.dirname, '../..');

export interface BridgeFunctionProps {
  /** Its name in shared/contract/environment.ts, which says what its environment holds. */
  readonly name: FunctionName;
  readonly description: string;
  /** Path of the handler in the repository. */
  readonly handler: string;
  readonly timeout: Duration;
  /** Path of its role, where a policy names roles by that. */
  readonly rolePath?: string;
  readonly settings: StackSettings;
}

/**
 * A function of the bridge, with what all of them have in common. It starts with the settings that its environment lists
 * (shared/contract/environment.ts) and may write its own logs. Every resource comes by `knows`, the variable that names it,
 * and `may`, the grant, side by side; grants.ts has the pairs that several functions need.
 */
export class BridgeFunction extends Construct implements Grantee {
  readonly function: NodejsFunction;
  readonly role: IRole;
  readonly logGroup: LogGroup;
  readonly timeout: Duration;

  constructor(scope: Construct, id: string, props: BridgeFunctionProps) {
    super(scope, id);
    const { name, description, handler, timeout, rolePath, settings } = props;
    this.logGroup = new LogGroup(this, 'Logs', {
      retention: RetentionDays.ONE_MONTH,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    // A role of our own: the one that CDK makes has AWS's managed policy, which may write to every log group.
    const role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
      ...(rolePath && { path: rolePath }),
    });
    role.addToPolicy(
      new PolicyStatement({
        sid: 'Logs',
        actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
        resources: [this.logGroup.logGroupArn],
      }),
    );
    this.role = role;
    this.timeout = timeout;
    this.function = new NodejsFunction(this, 'Function', {
      description,
      entry: join(repository, handler),
      projectRoot: repository,
      depsLockFilePath: join(repository, 'package-lock.json'),
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      // Enough: the functions mostly wait for HTTP, and twice the memory is twice the price of waiting.
      memorySize: 256,
      timeout,
      role,
      logGroup: this.logGroup,
      loggingFormat: LoggingFormat.JSON,
      applicationLogLevelV2: ApplicationLogLevel.INFO,
      awsSdkConnectionReuse: false, // SDK 3 keeps connections alive without being told by the environment.
      environment: { NODE_OPTIONS: '--enable-source-maps', ...environmentOf(name, settings) },
      bundling,
    });
  }

  /** Gives the function the name of a resource in its environment. */
  knows(key: EnvironmentName, value: string): this {
    this.function.addEnvironment(environmentKeys[key], value);
    return this;
  }

  may(...[sid, statement]: Parameters<Grantee['may']>): this {
    this.function.addToRolePolicy(new PolicyStatement({ sid, ...statement }));
    return this;
  }

  acknowledges(id: string, reason: string): this {
    Validations.of(this.role).acknowledge({ id, reason });
    return this;
  }
}

/** The values of those settings that the function's contract lists. */
function environmentOf(name: FunctionName, settings: StackSettings): Record<string, string> {
  const wanted = Object.keys(functionEnvironments[name].entries) as EnvironmentName[];
  const given: Partial<Record<EnvironmentName, unknown>> = settings;
  return Object.fromEntries(
    wanted.filter((key) => given[key] !== undefined).map((key) => [environmentKeys[key], String(given[key])]),
  );
}

const bundling = {
  format: OutputFormat.ESM,
  target: 'node24',
  mainFields: ['module', 'main'],
  charset: Charset.UTF8,
  minify: true,
  sourceMap: true,
  sourcesContent: false,
  logLevel: LogLevel.WARNING,
  /** The version that was tested, not the one that the runtime happens to have. */
  bundleAwsSDK: true,
  esbuildArgs: {
    // In Lambda credentials are in the environment: the chain of all other sources is 90 KB that never runs.
    '--alias:@aws-sdk/credential-provider-node': join(
      repository,
      'shared/aws/bundling/lambda-credentials.ts',
    ),
    // DynamoDB's endpoint discovery is off: its cache is another 7 KB.
    '--alias:@aws-sdk/endpoint-cache': join(repository, 'shared/aws/bundling/no-endpoint-cache.ts'),
    // No answer is streamed: 15 KB that never run.
    '--alias:@smithy/core/event-streams': join(repository, 'shared/aws/bundling/no-event-streams.ts'),
    // Licences go into a file beside the bundle, where they are not loaded with every cold start.
    '--legal-comments': 'external',
  },
};
