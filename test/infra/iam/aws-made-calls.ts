/**
 * Calls that AWS itself makes with the roles of the stack: no code of ours makes these calls, so no recording has them.
 * The only place where a grant is justified by words.
 */
import { functions } from '../../helpers/synthesized.ts';
import type { RoleCall } from './grants.ts';
import type { TemplatePolicies } from './template-policies.ts';

interface AwsMade {
  readonly actions: readonly string[];
  readonly because: string;
}

const log: AwsMade = {
  actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
  because:
    'Lambda writes the log of a function with its role (https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs.html)',
};
const mapping: AwsMade = {
  actions: ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'],
  because:
    'the event source mapping polls the queue with the role of the function (https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html)',
};
const schedule: AwsMade = {
  actions: ['lambda:InvokeFunction'],
  because: 'EventBridge Scheduler invokes its target with the role of the schedule',
};

export function awsMadeCalls(policies: TemplatePolicies): RoleCall[] {
  const calls: RoleCall[] = [];
  const add = (role: RoleCall['role'] | undefined, { actions }: AwsMade, resourceArn: string) => {
    if (!role) throw new Error('no such role');
    for (const action of actions) calls.push({ role, action, resourceArn, context: {} });
  };
  for (const id of Object.values(functions)) {
    const group = policies.arnOf('AWS::Logs::LogGroup', `${id}Logs`).replace(/:\*$/, '');
    add(policies.roleOf(id), log, `${group}:log-stream:2026/11/20/[$LATEST]0`);
  }
  add(policies.roleOf(functions.fanOut), mapping, policies.arnOf('AWS::SQS::Queue', 'ChangedAdvertsQueue'));
  for (const [name, scheduleId] of [
    [functions.drain, 'Drain'],
    [functions.refreshToken, 'RefreshToken'],
  ] as const) {
    const role = policies.roles.find(({ id }) => id.startsWith(`${scheduleId}ScheduleRole`));
    add(role, schedule, policies.arnOf('AWS::Lambda::Function', name));
  }
  return calls;
}
