import { Duration, Stack } from 'aws-cdk-lib';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { CfnSchedule } from 'aws-cdk-lib/aws-scheduler';
import { Construct } from 'constructs';
import type { BridgeFunction } from './bridge-function.ts';

export interface ScheduleProps {
  readonly description: string;
  readonly target: BridgeFunction;
  readonly every: Duration;
}

/** The minimum of EventBridge Scheduler and Lambda. */
const oldestEvent = Duration.minutes(1);

/**
 * Invokes a function at a regular interval. The scheduler and Lambda's queue of asynchronous events drop an invocation
 * that cannot start in time: the next run does the same work, and accumulated runs after an outage would not help.
 */
export class Schedule extends Construct {
  readonly scheduleName: string;

  constructor(scope: Construct, id: string, { description, target, every }: ScheduleProps) {
    super(scope, id);
    target.function.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: oldestEvent });
    const { partition, region, account } = Stack.of(this);
    const role = new Role(this, 'Role', {
      // The condition cannot name a single schedule, only a group:
      // https://docs.aws.amazon.com/scheduler/latest/UserGuide/cross-service-confused-deputy-prevention.html
      assumedBy: new ServicePrincipal('scheduler.amazonaws.com', {
        conditions: {
          StringEquals: { 'aws:SourceAccount': account },
          ArnEquals: {
            'aws:SourceArn': `arn:${partition}:scheduler:${region}:${account}:schedule-group/default`,
          },
        },
      }),
    });
    const policy = new PolicyStatement({
      actions: ['lambda:InvokeFunction'],
      resources: [target.function.functionArn],
    });
    const granted = role.addToPrincipalPolicy(policy).policyDependable;
    const schedule = new CfnSchedule(this, 'Schedule', {
      description,
      scheduleExpression: `rate(${every.toMinutes()} ${every.toMinutes() === 1 ? 'minute' : 'minutes'})`,
      flexibleTimeWindow: { mode: 'OFF' },
      target: {
        arn: target.function.functionArn,
        roleArn: role.roleArn,
        input: '{}',
        retryPolicy: { maximumRetryAttempts: 0, maximumEventAgeInSeconds: oldestEvent.toSeconds() },
      },
    });
    if (granted) schedule.node.addDependency(granted);
    this.scheduleName = schedule.ref;
  }
}
