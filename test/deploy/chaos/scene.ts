import {
  CreateEventSourceMappingCommand,
  ListEventSourceMappingsCommand,
  UpdateFunctionConfigurationCommand,
} from '@aws-sdk/client-lambda';
import { SetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { seededRandom } from '../../../kits/typescript/testing/player.ts';
import type { Random } from '../../../sandbox/state/random.ts';
import { createStore } from '../../../shared/aws/store.ts';
import { type Store, update } from '../../../shared/ports/store.ts';
import type { FeedState } from '../../../shared/state/feed-states.ts';
import { createPartnerAccounts, type PartnerAccounts } from '../../../shared/state/partner-accounts.ts';
import { createWeather, type Weather } from '../../chaos/weather.ts';
import { connectUser, type Deployment } from '../stack/deployment.ts';
import { invoke } from '../stack/functions.ts';

export type Stage = 'drain' | 'fanOut' | 'refreshToken';

/** What the faults operate on. */
export interface Scene {
  readonly deployment: Deployment;
  readonly random: Random;
  readonly weather: Weather;
  readonly store: Store;
  readonly partnerAccounts: PartnerAccounts;
  /** Partner accounts of the chaos part, in addition to those of the deployment. */
  readonly names: readonly string[];
}

/**
 * Replaces the timeouts of 90, 60 and 60 s, and the visibility timeout of ten minutes, so that what takes long on AWS
 * takes seconds here. The visibility timeout is shorter than the function's, which AWS forbids, so that a frozen worker
 * outlives it. test/infra checks the stack's own values.
 */
const short = { drain: 8, fanOut: 8, refreshToken: 8, visibility: 3 };
/** Those of the stack, but a visibility timeout with which the parts that follow do not wait for minutes. */
export const usual = { drain: 90, fanOut: 60, refreshToken: 60, visibility: 20 };
export const visibilitySeconds = short.visibility;

/** @param timeouts all in seconds */
export async function setTimeouts(
  { cloud, outputs }: Deployment,
  { visibility, ...functions }: typeof usual,
): Promise<void> {
  for (const stage of ['drain', 'fanOut', 'refreshToken'] as const) {
    const changed = { FunctionName: outputs[`${stage}FunctionName`], Timeout: functions[stage] };
    await cloud.lambda.send(new UpdateFunctionConfigurationCommand(changed));
  }
  const Attributes = { VisibilityTimeout: String(visibility) };
  await cloud.sqs.send(new SetQueueAttributesCommand({ QueueUrl: outputs.queueUrl, Attributes }));
}

/** Connects partner accounts through the command line, and shortens the timeouts of the deployed resources. */
export async function setScene(deployment: Deployment): Promise<Scene> {
  const { cloud, outputs, sandbox, options } = deployment;
  const names = ['anna', 'bert', 'cleo'];
  for (const name of names) await connectUser(deployment, name, 30);
  await setTimeouts(deployment, short);
  // On AWS, one mapping has several batches of a FIFO queue in flight, in the emulator only one.
  const FunctionName = outputs.fanOutFunctionName;
  const { EventSourceMappings: [mapping] = [] } = await cloud.lambda.send(
    new ListEventSourceMappingsCommand({ FunctionName }),
  );
  const { EventSourceArn, BatchSize, FunctionResponseTypes } = mapping ?? {};
  await cloud.lambda.send(
    new CreateEventSourceMappingCommand({ FunctionName, EventSourceArn, BatchSize, FunctionResponseTypes }),
  );
  const random = seededRandom(options.seed);
  const users = names.map((name) => ({ name, refreshToken: '' }));
  const store = createStore({ feedState: { client: cloud.dynamo, name: outputs.feedStateTableName } });
  const weather = createWeather({ control: sandbox.control, users }, random);
  return { deployment, random, weather, store, partnerAccounts: createPartnerAccounts(store), names };
}

/** The answer of a function; undefined when it failed. */
export const ask = (
  { deployment: { cloud, outputs } }: Scene,
  stage: Stage,
  event: object = {},
): Promise<unknown> => invoke(cloud, outputs[`${stage}FunctionName`], event).catch(() => undefined);

/** Ends every feed's lease now; after a drain's death this takes 90 s. */
export async function endLeases({ store }: Scene): Promise<void> {
  for (const { name } of await store.list('feed')) {
    await update(store, { kind: 'feed', name }, (row) => {
      const { lease, ...state } = (row?.value ?? {}) as Partial<FeedState>;
      return lease && state;
    });
  }
}
