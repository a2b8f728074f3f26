import { CfnOutput, Duration, Stack } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import packageJson from '../package.json' with { type: 'json' };
import { outputs } from '../shared/contract/names.ts';
import type { StackSettings } from '../shared/contract/settings.ts';
import { feedStateTable } from '../shared/contract/tables.ts';
import { CatchUp } from './constructs/catch-up.ts';
import { ChangedAdverts } from './constructs/changed-adverts.ts';
import { Connect } from './constructs/connect.ts';
import { Drain } from './constructs/drain.ts';
import { durableTable } from './constructs/durable-table.ts';
import { EventBus } from './constructs/event-bus.ts';
import { FanOut } from './constructs/fan-out.ts';
import { Alarms } from './constructs/monitoring/alarms.ts';
import { Dashboard } from './constructs/monitoring/dashboard.ts';
import { LogQueries } from './constructs/monitoring/log-queries.ts';
import { RefreshToken } from './constructs/refresh-token.ts';
import { SchemaRegistry } from './constructs/schema-registry.ts';
import { leaveOutUnknown } from './emulator.ts';

export interface AdvertBridgeProps {
  readonly settings: StackSettings;
}

/** A batch waits for its share of the rate budget, and perhaps for a refresh; each fetch ends well before this. */
const fanOutTimeout = Duration.minutes(1);

/** The whole bridge, one construct a stage. */
export class AdvertBridge extends Construct {
  constructor(scope: Construct, id: string, { settings }: AdvertBridgeProps) {
    super(scope, id);
    const feedState = durableTable(this, 'FeedState', feedStateTable, settings.feedStateTable);
    const changedAdverts = new ChangedAdverts(this, 'ChangedAdverts', { receiverTimeout: fanOutTimeout });
    const { bus } = new EventBus(this, 'Events', settings);
    new SchemaRegistry(this, 'Schemas', settings);
    const refreshToken = new RefreshToken(this, 'RefreshToken', { settings, feedState, bus });
    const shared = { settings, feedState, changedAdverts, refreshToken: refreshToken.function };
    const fanOut = new FanOut(this, 'FanOut', { ...shared, timeout: fanOutTimeout, bus });
    const { advertStatus } = fanOut;
    const connect = new Connect(this, 'Connect', { settings, feedState, advertStatus, bus });
    refreshToken.application.readableBy(refreshToken.function, connect.function);
    const drain = new Drain(this, 'Drain', shared);
    const catchUp = new CatchUp(this, 'CatchUp', { ...shared, advertStatus, drain: drain.function });
    const functions = {
      drain: drain.function,
      'fan-out': fanOut.function,
      'refresh-token': refreshToken.function,
      connect: connect.function,
    };
    const alarms = new Alarms(this, 'Alarms', {
      settings,
      changedAdverts,
      fanOut: fanOut.function,
      refreshToken: refreshToken.function,
    });
    new LogQueries(this, 'LogQueries', {
      logGroups: Object.values(functions).map(({ logGroup }) => logGroup),
    });
    if (settings.dashboard) new Dashboard(this, 'Glance', { alarms: alarms.all, changedAdverts, functions });
    // Nothing runs without its alarms.
    drain.schedule.node.addDependency(alarms);
    refreshToken.schedule.node.addDependency(alarms);

    const values: Record<keyof typeof outputs, string> = {
      eventBusName: bus.eventBusName,
      eventBusArn: bus.eventBusArn,
      queueUrl: changedAdverts.queue.queueUrl,
      deadLetterQueueUrl: changedAdverts.deadLetters.queueUrl,
      feedStateTableName: feedState.tableName,
      advertStatusTableName: advertStatus.tableName,
      drainFunctionName: drain.function.function.functionName,
      fanOutFunctionName: fanOut.function.function.functionName,
      refreshTokenFunctionName: refreshToken.function.function.functionName,
      connectFunctionName: connect.function.function.functionName,
      catchUpRoleArn: catchUp.role.roleArn,
      drainScheduleName: drain.schedule.scheduleName,
      refreshTokenScheduleName: refreshToken.schedule.scheduleName,
      version: packageJson.version,
      doctor: `npx advert-bridge doctor --stack ${Stack.of(this).stackName}`,
    };
    for (const [key, name] of Object.entries(outputs)) {
      new CfnOutput(this, name, { value: values[key as keyof typeof outputs] });
    }
    if (settings.target === 'emulator') leaveOutUnknown(this);
  }
}
