import type { Sandbox } from '../../../sandbox/server.ts';
import type { Cloud } from '../emulator/cloud.ts';
import type { MiniStack } from '../emulator/ministack.ts';
import type { Steps } from '../emulator/steps.ts';
import type { AdvertBridge } from './advert-bridge.ts';
import type { Cdk, Outputs } from './cdk.ts';
import type { Subscriber } from './subscriber.ts';

/** What the steps operate on. */
export interface Deployment {
  readonly steps: Steps;
  readonly say: (line: string) => void;
  readonly emulator: MiniStack;
  readonly cloud: Cloud;
  readonly cdk: Cdk;
  /** CDK context of the deployment. */
  readonly settings: Readonly<Record<string, string>>;
  readonly outputs: Outputs;
  readonly advertBridge: AdvertBridge;
  readonly sandbox: Sandbox;
  readonly subscriber: Subscriber;
}

/** Maximum time for an event to arrive: FIFO queue, function, service, bus and rule, on a busy machine. */
export const onItsWayMs = 45_000;
