import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SQSClient } from '@aws-sdk/client-sqs';
import { customEventBusClient } from './custom-event-bus.ts';
import { handlerOptions } from './handler-options.ts';

/**
 * Attempts are short, because all calls are small and a hanging call would use up the time of a whole batch. Four attempts
 * cover a little more than a second of throttling.
 */
const defaults = () => ({
  maxAttempts: 4,
  requestHandler: handlerOptions({ connectionTimeout: 1_000, requestTimeout: 4_000 }),
});

export const dynamoDbClient = () => new DynamoDBClient(defaults());
export const sqsClient = () => new SQSClient(defaults());
export const eventBridgeClient = () => new EventBridgeClient(defaults());
export const customBusClient = () => customEventBusClient(defaults());
export const secretsManagerClient = () => new SecretsManagerClient(defaults());

/** The timeout is that of the invoked function. A second attempt would meet the lock of the first. */
export const lambdaClient = () =>
  new LambdaClient({
    maxAttempts: 1,
    requestHandler: handlerOptions({ connectionTimeout: 1_000, requestTimeout: 60_000 }),
  });
