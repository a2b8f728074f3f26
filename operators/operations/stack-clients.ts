import { CloudFormationClient } from '@aws-sdk/client-cloudformation';
import { CloudWatchClient } from '@aws-sdk/client-cloudwatch';
import { SchedulerClient } from '@aws-sdk/client-scheduler';
import { SNSClient } from '@aws-sdk/client-sns';
import { STSClient } from '@aws-sdk/client-sts';
import {
  customBusClient,
  dynamoDbClient,
  eventBridgeClient,
  lambdaClient,
  secretsManagerClient,
  sqsClient,
} from '../../shared/aws/clients.ts';
import { handlerOptions } from '../../shared/aws/handler-options.ts';

const patient = {
  maxAttempts: 3,
  requestHandler: handlerOptions({ connectionTimeout: 3_000, requestTimeout: 8_000 }),
};

export const stackClients = () => ({
  cloudFormation: new CloudFormationClient(patient),
  cloudWatch: new CloudWatchClient(patient),
  customBus: customBusClient(),
  dynamoDb: dynamoDbClient(),
  events: eventBridgeClient(),
  lambda: lambdaClient(),
  scheduler: new SchedulerClient(patient),
  secrets: secretsManagerClient(),
  sns: new SNSClient(patient),
  sqs: sqsClient(),
  sts: new STSClient(patient),
});

export type StackClients = ReturnType<typeof stackClients>;

const missingError =
  /^(ResourceNotFound|TableNotFound)Exception$|^QueueDoesNotExist$|^AWS\.SimpleQueueService\.NonExistentQueue$/;

export const unlessMissing = <T>(asked: Promise<T>): Promise<T | undefined> =>
  asked.catch((error: unknown) => {
    if (error instanceof Error && missingError.test(error.name)) return undefined;
    throw error;
  });

/** Collects the items of all pages of an AWS answer. @param pages for example from a paginator of the SDK */
export async function allPages<Page, Item>(
  pages: AsyncIterable<Page>,
  itemsOf: (page: Page) => readonly Item[] | undefined,
): Promise<Item[]> {
  const all: Item[] = [];
  for await (const page of pages) all.push(...(itemsOf(page) ?? []));
  return all;
}
