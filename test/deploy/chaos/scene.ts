import {
  CreateEventSourceMappingCommand,
  ListEventSourceMappingsCommand,
  UpdateFunctionConfigurationCommand,
} from '@aws-sdk/client-lambda';
import { GetQueueAttributesCommand, SetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import type { Random } from '../../../sandbox/state/random.ts';
import { createStore } from '../../../shared/aws/store.ts';
import { update } from '../../../shared/ports/store.ts';
import type { FeedState } from '../../../shared/state/feed-states.ts';
import { createPartnerAccounts } from '../../../shared/state/partner-accounts.ts';
import { createWeather, type Weather } from '../../chaos/weather.ts';
import { EmulatorLog } from '../emulator/emulator-log.ts';
import type { Deployment } from '../stack/deployment.ts';
import type { Stage } from './plan.ts';
import { Workers } from './workers.ts';

/** What the faults operate on. */
export interface Scene {
  readonly deployment: Deployment;
  readonly random: Random;
  readonly weather: Weather;
  readonly workers: Workers;
  readonly log: EmulatorLog;
  readonly functionNames: Readonly<Record<Stage, string>>;
  /** Partner accounts of the chaos part, in addition to those of the deployment. */
  readonly accounts: readonly string[];
  readonly queueUrl: string;
  readonly mappings: readonly string[];
  /**
   * The partner account of each message that this test itself gave to the fan-out in addition to the queue's
   * deliveries.
   */
  readonly givenAgain: string[];
}

/** The parts that produce traffic, with or without faults. */
export type Traffic = Pick<Scene, 'deployment' | 'weather' | 'accounts' | 'functionNames' | 'queueUrl'>;

const adverts = 30;
const chaosAccounts = ['anna', 'bert', 'cleo'];

/**
 * Replaces the timeouts of 90, 120 and 60 s, and the visibility timeout of ten minutes, so that what takes long on
 * AWS takes seconds here. The visibility timeout is shorter than the function's, which AWS forbids, so that a frozen
 * worker outlives it. test/infra checks the stack's own values.
 */
export const timeoutSeconds = 8;
export const visibilitySeconds = 3;

/** Connects partner accounts through the command line, and shortens the timeouts of the deployed resources. */
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

/**
 * On AWS, one mapping has several batches of a FIFO queue in flight, in the emulator only one: this adds a second
 * mapping.
 */
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

/** Ends every feed's lease now, including those of other partner accounts; after a drain's death this takes 90 s. */
export async function endLeases({ deployment }: Traffic): Promise<void> {
  const { cloud, outputs } = deployment;
  const store = createStore({ feedState: { client: cloud.dynamo, name: outputs.feedStateTableName } });
  for (const { name } of await store.list('feed')) {
    await update(store, { kind: 'feed', name }, (row) => {
      const { lease, ...state } = (row?.value ?? {}) as Partial<FeedState>;
      return lease && state;
    });
  }
}

export const partnerAccounts = ({ deployment: { cloud, outputs } }: Scene) =>
  createPartnerAccounts(
    createStore({ feedState: { client: cloud.dynamo, name: outputs.feedStateTableName } }),
  );

/**
 * Ends a refresh lock now; after its holder's death this takes two minutes.
 *
 * @param heldBefore ms since 1970; every process that took a lock before must be dead, because the lock prevents a
 * second refresh
 */
export async function endLock(scene: Scene, name: string, heldBefore: number): Promise<void> {
  await partnerAccounts(scene).change(name, (account) =>
    account.refreshing && account.refreshing.startedAt <= heldBefore
      ? { ...account, refreshing: { ...account.refreshing, until: Date.now() } }
      : undefined,
  );
}

/** Number of messages in the queue, including hidden ones and those being handled. */
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
