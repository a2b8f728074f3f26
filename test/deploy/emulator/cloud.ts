import { dirname, join } from 'node:path';
import { CloudFormationClient } from '@aws-sdk/client-cloudformation';
import { CloudWatchClient } from '@aws-sdk/client-cloudwatch';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { SchedulerClient } from '@aws-sdk/client-scheduler';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SQSClient } from '@aws-sdk/client-sqs';

export const repository = join(import.meta.dirname, '../../..');

/** The emulator treats an access key of twelve digits as the AWS account. */
export const awsAccount = '111122223333';
export const region = 'eu-central-1';

/** This process's Node comes first: the CDK app, the command line and the functions all use it. */
export const searchPath = [
  dirname(process.execPath),
  join(repository, 'node_modules', '.bin'),
  process.env.PATH ?? '/usr/local/bin:/usr/bin:/bin',
].join(':');

/**
 * The complete environment of every process that uses AWS. Nothing is inherited, and no profile can be found, so
 * these processes can reach only the emulator, never a real AWS account.
 */
export function awsEnvironment(endpoint: string, folder: string): Record<string, string> {
  return {
    PATH: searchPath,
    HOME: join(folder, 'home'),
    TMPDIR: join(folder, 'tmp'),
    AWS_ENDPOINT_URL: endpoint,
    AWS_ACCESS_KEY_ID: awsAccount,
    AWS_SECRET_ACCESS_KEY: 'emulator',
    AWS_REGION: region,
    AWS_EC2_METADATA_DISABLED: 'true',
    CDK_DISABLE_CLI_TELEMETRY: 'true',
    CDK_DISABLE_VERSION_CHECK: '1',
    NO_COLOR: '1',
  };
}

export type Cloud = ReturnType<typeof connectTo>;

/** One client of each service, connected to the emulator. */
export function connectTo(endpoint: string, account = awsAccount, inRegion = region) {
  const credentials = { accessKeyId: account, secretAccessKey: 'emulator' };
  const options = { endpoint, region: inRegion, credentials };
  const clients = {
    cloudFormation: new CloudFormationClient(options),
    cloudWatch: new CloudWatchClient(options),
    dynamo: new DynamoDBClient(options),
    eventBridge: new EventBridgeClient(options),
    lambda: new LambdaClient(options),
    scheduler: new SchedulerClient(options),
    secrets: new SecretsManagerClient(options),
    sqs: new SQSClient(options),
  };
  return {
    ...clients,
    endpoint,
    close: () => {
      for (const client of Object.values(clients)) client.destroy();
    },
  };
}
