import { GetFunctionConfigurationCommand } from '@aws-sdk/client-lambda';
import { startRecordingProxy } from '../../infra/iam/recording-proxy.ts';
import { awsAccount, type Cloud, region } from '../emulator/cloud.ts';
import { changeVariables } from '../stack/functions.ts';

/** DynamoDB's answer if no policy of the role allows the call. */
const denial = (role: string, functionName: string, operation: string): string =>
  JSON.stringify({
    __type: 'com.amazonaws.dynamodb.v20120810#AccessDeniedException',
    Message:
      `User: arn:aws:sts::${awsAccount}:assumed-role/${role}/${functionName} is not authorized to perform: dynamodb:${operation} ` +
      `on resource: arn:aws:dynamodb:${region}:${awsAccount}:table/* because no identity-based policy allows the dynamodb:${operation} action`,
  });

/**
 * Removes a function's grants on DynamoDB. The emulator checks no grants, so a proxy in between answers as AWS does.
 *
 * @returns a function that restores the grants
 */
export async function denyTables(cloud: Cloud, FunctionName: string): Promise<() => Promise<void>> {
  const { Role = '', Environment } = await cloud.lambda.send(
    new GetFunctionConfigurationCommand({ FunctionName }),
  );
  const role = Role.split('/').at(-1) ?? '';
  const before = Environment?.Variables?.AWS_ENDPOINT_URL ?? cloud.endpoint;
  const [sqs, events, lambda, secretsmanager, cloudformation] = [before, before, before, before, before];
  const proxy = await startRecordingProxy({
    upstream: {
      ...{ sqs, events, lambda, secretsmanager, cloudformation },
      dynamodb: async ({ operation }) => ({ status: 400, body: denial(role, FunctionName, operation) }),
    },
    record: () => undefined,
  });
  await changeVariables(cloud, FunctionName, { AWS_ENDPOINT_URL: proxy.url });
  return async () => {
    await changeVariables(cloud, FunctionName, { AWS_ENDPOINT_URL: before });
    await proxy.stop();
  };
}
