import assert from 'node:assert/strict';
import { DescribeStackResourcesCommand } from '@aws-sdk/client-cloudformation';
import { GetFunctionConfigurationCommand, UpdateFunctionConfigurationCommand } from '@aws-sdk/client-lambda';
import { type FunctionName, resourceKeys } from '../../../shared/contract/environment.ts';
import { secretNames, stackName } from '../../../shared/contract/names.ts';
import {
  type AwsCall,
  type RecordingProxy,
  type Service,
  startRecordingProxy,
} from '../../helpers/aws/recording-proxy.ts';
import { functions, synthesized } from '../../helpers/synthesized.ts';
import { requestsOf } from '../../infra/iam/aws-call.ts';
import { awsMadeCalls } from '../../infra/iam/aws-made-calls.ts';
import { compare, functionCalls, type RoleCall, summary } from '../../infra/iam/grants.ts';
import { policiesOf, secretArn } from '../../infra/iam/template-policies.ts';
import type { Cloud } from '../emulator/cloud.ts';
import type { Outputs } from './cdk.ts';

const types: Readonly<Record<Exclude<Service, 'secretsmanager'>, string>> = {
  dynamodb: 'AWS::DynamoDB::Table',
  sqs: 'AWS::SQS::Queue',
  events: 'AWS::Events::EventBus',
  lambda: 'AWS::Lambda::Function',
  cloudformation: 'AWS::CloudFormation::Stack',
};
const nameOf = (text = ''): string => text.split(/[/:]/).at(-1) ?? '';

/**
 * Puts a recording proxy between each deployed function and the emulator, through the endpoint in the function's
 * environment and the queues' URLs, because the SDK uses these URLs as endpoints.
 */
export async function recordCalls(
  cloud: Cloud,
  outputs: Outputs,
  settings: Readonly<Record<string, string>>,
) {
  const { endpoint, lambda } = cloud;
  const recorded: { readonly caller: FunctionName; readonly call: AwsCall }[] = [];
  const upstream = {
    dynamodb: endpoint,
    sqs: endpoint,
    events: endpoint,
    lambda: endpoint,
    secretsmanager: endpoint,
    cloudformation: endpoint,
  };
  const proxies = new Map<FunctionName, RecordingProxy>();
  for (const caller of Object.keys(functions) as FunctionName[]) {
    const record = (call: AwsCall) => {
      recorded.push({ caller, call });
    };
    proxies.set(caller, await startRecordingProxy({ upstream, record }));
  }

  /** Must be called again after each deployment, which resets the environment. */
  async function attach(): Promise<void> {
    for (const [caller, { url }] of proxies) {
      const FunctionName = outputs[`${caller}FunctionName`];
      const { Environment } = await lambda.send(new GetFunctionConfigurationCommand({ FunctionName }));
      const { Variables = {} } = Environment ?? {};
      const queues = [resourceKeys.queueUrl]
        .filter((key) => Variables[key] !== undefined)
        .map((key) => [key, url + new URL(Variables[key] ?? '').pathname]);
      const changed = { ...Variables, ...Object.fromEntries(queues), AWS_ENDPOINT_URL: url };
      await lambda.send(
        new UpdateFunctionConfigurationCommand({ FunctionName, Environment: { Variables: changed } }),
      );
    }
  }

  /**
   * Whether the stack's policies allow every recorded call. Uses the template for AWS, because the emulator's omits
   * some policies.
   *
   * @returns the figures, in words
   * @throws {AssertionError} for a denied call, or when a function has made no call
   */
  async function check(): Promise<string> {
    const policies = policiesOf(synthesized({ ...settings, target: 'aws' }).resources);
    const { StackResources = [] } = await cloud.cloudFormation.send(
      new DescribeStackResourcesCommand({ StackName: stackName }),
    );
    const calls = recorded.flatMap(({ caller, call }): RoleCall[] =>
      functionCalls(policies, functions[caller], requestsOf(call), ({ service, resource }) => {
        if (service === 'secretsmanager') {
          return resource === secretNames.application
            ? policies.arnOf('AWS::SecretsManager::Secret', 'RefreshTokenApplication')
            : secretArn(resource);
        }
        const found = StackResources.find(
          ({ ResourceType, PhysicalResourceId }) =>
            ResourceType === types[service] && nameOf(PhysicalResourceId) === nameOf(resource),
        );
        assert.ok(found?.LogicalResourceId, `${resource} is of the stack`);
        return policies.arnOf(types[service], found.LogicalResourceId);
      }),
    );
    for (const caller of proxies.keys()) {
      assert.ok(
        recorded.some((each) => each.caller === caller),
        `calls of ${caller} were recorded`,
      );
    }
    const report = await compare(policies, [...calls, ...awsMadeCalls(policies)]);
    assert.deepEqual(report.denied, []);
    // test/infra/iam checks that every grant is used, because it covers more cases than one journey.
    return [summary(report), ...report.unused.map((grant) => `not used here: ${grant}`)].join('\n');
  }

  return {
    attach,
    check,
    async stop() {
      for (const proxy of proxies.values()) await proxy.stop();
    },
  };
}
