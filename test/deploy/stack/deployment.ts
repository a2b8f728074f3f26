import assert from 'node:assert/strict';
import type { Sandbox } from '../../../sandbox/server.ts';
import { until } from '../../helpers/until.ts';
import type { Cloud } from '../emulator/cloud.ts';
import type { MiniStack } from '../emulator/ministack.ts';
import type { Options } from '../emulator/options.ts';
import type { Run } from '../emulator/run.ts';
import type { AdvertBridge } from './advert-bridge.ts';
import type { Cdk, Outputs, Values } from './cdk.ts';
import { drain } from './functions.ts';
import type { Subscriber } from './subscriber.ts';

/** What the steps operate on. */
export interface Deployment extends Run {
  readonly options: Options;
  /** The complete environment of programs that use AWS. */
  readonly env: Values;
  readonly emulator: MiniStack;
  readonly cloud: Cloud;
  readonly cdk: Cdk;
  /** CDK context of the deployment. */
  readonly settings: Values;
  readonly outputs: Outputs;
  readonly advertBridge: AdvertBridge;
  readonly sandbox: Sandbox;
  readonly subscriber: Subscriber;
}

/** Maximum time for an event to arrive: FIFO queue, function, service, bus and rule, on a busy machine. */
export const onItsWayMs = 45_000;
/** Long enough for an unexpected event to arrive. */
export const silenceMs = 1500;

/** A new user of the service, connected through the command line. @returns the IDs of its adverts */
export async function connectUser(
  { sandbox: { control }, advertBridge }: Pick<Deployment, 'sandbox' | 'advertBridge'>,
  name: string,
  adverts: number,
): Promise<string[]> {
  const { refreshToken } = control.addUser(name, { adverts });
  control.setConsent({ mode: 'allow', user: name });
  await advertBridge.run(['connect', name, '--refresh-token-stdin'], refreshToken);
  return control.truth(name).map(({ id }) => id);
}

/**
 * Drains until the subscriber has received `expected` more events than before.
 *
 * @throws {AssertionError} for more or fewer
 */
export async function deliver(deployment: Deployment, expected: number): Promise<void> {
  const { cloud, outputs, subscriber } = deployment;
  const before = subscriber.received.length;
  await drain(cloud, outputs.drainFunctionName);
  const total = before + expected;
  await subscriber.readUntil(({ length }) => length >= total, onItsWayMs);
  await subscriber.readUntil(({ length }) => length > total, silenceMs);
  assert.equal(subscriber.received.length - before, expected, 'events that the subscriber received');
}

/**
 * Waits until no message is in the queue or aside, including messages that are retried after a fault.
 *
 * @throws {Error} with the status when it does not in time
 */
export async function settled({ status }: AdvertBridge): Promise<void> {
  const isSettled = async () => (await status()).queue.waiting === 0;
  await until('no message waits', isSettled, { withinMs: 180_000 }).catch(async (error: Error) => {
    throw new Error(`${error.message}: ${JSON.stringify(await status())}`);
  });
}
