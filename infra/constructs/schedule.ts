import { Duration } from 'aws-cdk-lib';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Schedule, ScheduleExpression, ScheduleGroup, ScheduleTargetInput } from 'aws-cdk-lib/aws-scheduler';
import type { BridgeFunction } from './bridge-function.ts';

/** The minimum of EventBridge Scheduler and Lambda. */
const maxEventAge = Duration.minutes(1);

/**
 * Invokes a function at a regular interval. The scheduler and Lambda's queue of asynchronous events drop an invocation
 * that cannot start in time: the next run does the same work, and accumulated runs after an outage would not help.
 *
 * CDK's own target for functions is not used: it puts its role into the stack instead of the bridge, and the role may
 * invoke every version of the function.
 */
export function schedule(stage: BridgeFunction, description: string, every: Duration): Schedule {
  const { lambda } = stage;
  lambda.configureAsyncInvoke({ retryAttempts: 0, maxEventAge });
  const group = ScheduleGroup.fromDefaultScheduleGroup(stage, 'ScheduleGroup');
  const role = new Role(stage, 'ScheduleRole', {
    // The condition cannot name a single schedule, only a group:
    // https://docs.aws.amazon.com/scheduler/latest/UserGuide/cross-service-confused-deputy-prevention.html
    assumedBy: new ServicePrincipal('scheduler.amazonaws.com', {
      conditions: {
        StringEquals: { 'aws:SourceAccount': lambda.env.account },
        ArnEquals: { 'aws:SourceArn': group.scheduleGroupArn },
      },
    }),
  });
  const invoke = new PolicyStatement({
    actions: ['lambda:InvokeFunction'],
    resources: [lambda.functionArn],
  });
  const granted = role.addToPrincipalPolicy(invoke).policyDependable;
  const made = new Schedule(stage, 'Schedule', {
    description,
    schedule: ScheduleExpression.rate(every),
    target: {
      bind: () => ({
        arn: lambda.functionArn,
        role,
        input: ScheduleTargetInput.fromObject({}),
        retryPolicy: { maximumRetryAttempts: 0, maximumEventAgeInSeconds: maxEventAge.toSeconds() },
      }),
    },
  });
  if (granted) made.node.addDependency(granted);
  return made;
}
