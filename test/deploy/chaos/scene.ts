import { UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import {
  CreateEventSourceMappingCommand,
  ListEventSourceMappingsCommand,
  UpdateFunctionConfigurationCommand,
} from '@aws-sdk/client-lambda';
import { GetQueueAttributesCommand, SetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import type { Random } from '../../../sandbox/state/random.ts';
import { createFeedStates, feedItemKey } from '../../../shared/aws/feed-states.ts';
import { createPartnerAccounts } from '../../../shared/aws/partner-accounts.ts';
import { changeAccount } from '../../../shared/ports/partner-accounts.ts';
import { createWeather, type Weather } from '../../chaos/weather.ts';
import { EmulatorLog } from '../emulator/emulator-log.ts';
import type { Deployment } from '../stack/deployment.ts';
import type { Stage } from './plan.ts';
import { Workers } from './workers.ts';

/** What the faults work on. */
export interface Scene {
  readonly deployment: Deployment;
  readonly random: Random;
  readonly weather: Weather;
  readonly workers: Workers;
  readonly log: EmulatorLog;
  readonly functionNames: Readonly<Record<Stage, string>>;
  /** Partner accounts of the chaos, beside those that the deployment had. */
  readonly accounts: readonly string[];
  readonly queueUrl: string;
  readonly mappings: readonly string[];
  /** The partner account of each message that was given to the fan-out by hand once more than the queue gave it. */
  readonly givenAgain: string[];
}

/** What traffic needs, struck or not. */
export type Traffic = Pick<Scene, 'deployment' | 'weather' | 'accounts' | 'functionNames' | 'queueUrl'>;

const adverts = 30;
const chaosAccounts = ['anna', 'bert', 'cleo'];

/**
 * In place of 90, 120 and 60 s, and of the ten minutes that a message stays invisible, so that what takes its time on AWS
 * is over in seconds; and, as AWS forbids, visibility below the timeout, so that a frozen worker outlives it. What the
 * stack sets is looked at by test/infra.
 */
export const timeoutSeconds = 8;
export const visibilitySeconds = 3;

/** Connects partner accounts by the command line, and makes the deployed resources quick. */
export async function setScene(deployment: Deployment, random: Random): Promise<Scene> {
  const { cloud, outputs, advertBridge, sandbox, emulator } = deployment;
  const { drainFunctionName, fanOutFunctionName, refreshTokenFunctionName, queueUrl } = outputs;
  for (const name of chaosAccounts) {
    const refreshToken = `sandbox-refresh-token-${name}`;
    sandbox.control.addUser(name, { adverts, refreshToken });
    await advertBridge.run(['connect', name, '--refresh-token-stdin'], refreshToken);
  }
  const functionNames = {
    drain: drainFunctionName,
    fanOut: fanOutFunctionName,
    refreshToken: refreshTokenFunctionName,
  };
  for (const FunctionName of Object.values(functionNames)) {
    await cloud.lambda.send(
      new UpdateFunctionConfigurationCommand({ FunctionName, Timeout: timeoutSeconds }),
    );
  }
  const Attributes = { VisibilityTimeout: String(visibilitySeconds) };
  await cloud.sqs.send(new SetQueueAttributesCommand({ QueueUrl: queueUrl, Attributes }));
  const mappings = await addMapping(deployment);
  const users = chaosAccounts.map((name) => ({ name, refreshToken: `sandbox-refresh-token-${name}` }));
  return {
    ...{ deployment, random, functionNames, queueUrl, mappings },
    accounts: chaosAccounts,
    givenAgain: [],
    weather: createWeather({ control: sandbox.control, users }, random),
    workers: new Workers(),
    log: new EmulatorLog(emulator.logFile),
  };
}

/** A mapping of AWS's has several batches of a FIFO queue in flight, the emulator's one: so there is a second mapping. */
async function addMapping({ cloud, outputs }: Deployment): Promise<string[]> {
  const FunctionName = outputs.fanOutFunctionName;
  const { EventSourceMappings: [first] = [] } = await cloud.lambda.send(
    new ListEventSourceMappingsCommand({ FunctionName }),
  );
  if (!first?.UUID) throw new Error('the fan-out has no event source mapping');
  const { EventSourceArn, BatchSize, FunctionResponseTypes } = first;
  const { UUID } = await cloud.lambda.send(
    new CreateEventSourceMappingCommand({ FunctionName, EventSourceArn, BatchSize, FunctionResponseTypes }),
  );
  return [first.UUID, UUID ?? ''];
}

/** Lets every feed's lease run out now, those of other partner accounts too: what takes 90 s when a drain has died. */
export async function endLeases({ deployment }: Traffic): Promise<void> {
  const { cloud, outputs } = deployment;
  const table = { client: cloud.dynamo, name: outputs.feedStateTableName };
  for (const feed of await createFeedStates(table).list()) {
    const command = new UpdateItemCommand({
      TableName: table.name,
      Key: feedItemKey(feed),
      UpdateExpression: 'SET leaseUntil = :now',
      ConditionExpression: 'attribute_exists(leaseUntil)',
      ExpressionAttributeValues: { ':now': { N: String(Date.now()) } },
    });
    await cloud.dynamo.send(command).catch((error: Error) => {
      if (error.name !== 'ConditionalCheckFailedException') throw error;
    });
  }
}

export const partnerAccounts = ({ deployment: { cloud, outputs } }: Scene) =>
  createPartnerAccounts({ client: cloud.dynamo, name: outputs.feedStateTableName });

/**
 * Lets a refresh lock run out now: what takes two minutes when its holder has died.
 *
 * @param heldBefore ms since 1970; all that took a lock before then must be dead, for the lock is what keeps a second
 *   refresh away
 */
export async function endLock(scene: Scene, name: string, heldBefore: number): Promise<void> {
  await changeAccount(partnerAccounts(scene), name, (account) =>
    account.refreshing && account.refreshing.startedAt <= heldBefore
      ? { ...account, refreshing: { ...account.refreshing, until: Date.now() } }
      : undefined,
  );
}

/** Messages of the queue, those that are hidden or being handled included. */
export async function waitingMessages({ deployment: { cloud }, queueUrl }: Traffic): Promise<number> {
  const counted = [
    'ApproximateNumberOfMessages',
    'ApproximateNumberOfMessagesNotVisible',
    'ApproximateNumberOfMessagesDelayed',
  ] as const;
  const { Attributes = {} } = await cloud.sqs.send(
    new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: [...counted] }),
  );
  return counted.reduce((sum, name) => sum + Number(Attributes[name] ?? 0), 0);
}
