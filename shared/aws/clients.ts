import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SQSClient } from '@aws-sdk/client-sqs';

/**
 * Connections are kept alive (the SDK's default) and attempts are short: all calls are small, and one that hangs would
 * use up the time of a whole batch. Four attempts reach a little beyond a second of throttling.
 * The SDK finds `AWS_ENDPOINT_URL`, region and credentials by itself.
 *
 * @see https://docs.aws.amazon.com/sdk-for-javascript/v3/developer-guide/node-reusing-connections.html
 */
const defaults = {
  maxAttempts: 4,
  requestHandler: { connectionTimeout: 1_000, requestTimeout: 4_000, throwOnRequestTimeout: true },
};

export const dynamoDbClient = () => new DynamoDBClient(defaults);
export const sqsClient = () => new SQSClient(defaults);
export const eventBridgeClient = () => new EventBridgeClient(defaults);
export const secretsManagerClient = () => new SecretsManagerClient(defaults);

/**
 * Waits as long as the function invoked may run: it talks to the partner service. One attempt: a second one would
 * meet the first one's lock.
 */
export const lambdaClient = () =>
  new LambdaClient({
    maxAttempts: 1,
    requestHandler: { connectionTimeout: 1_000, requestTimeout: 60_000, throwOnRequestTimeout: true },
  });
