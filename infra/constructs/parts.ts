import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import type { IEventBus } from 'aws-cdk-lib/aws-events';
import type { BridgeFunction } from './bridge-function.ts';
import type { ChangedAdverts } from './changed-adverts.ts';
import type { BridgeConfig } from './props/bridge-config.ts';

/** Resources and settings that all stages of a bridge use. */
export interface Parts {
  readonly settings: BridgeConfig;
  readonly feedState: ITable;
  readonly advertStatus: ITable;
  readonly changedAdverts: ChangedAdverts;
  readonly refreshToken: BridgeFunction;
  readonly bus: IEventBus;
}
