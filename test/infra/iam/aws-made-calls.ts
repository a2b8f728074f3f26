import { functions } from '../../helpers/synthesized.ts';
import type { RoleCall } from './decide.ts';
import type { RolePolicies, TemplatePolicies } from './template-policies.ts';

/**
 * Calls that AWS itself makes with the roles of the stack: no code of ours makes these calls, so no recording has them.
 * The only place where a grant is justified by words.
 */
export function awsMadeCalls({ roles, roleOf, arnOf }: TemplatePolicies): RoleCall[] {
  const calls: RoleCall[] = [];
  const add = (role: RolePolicies | undefined, resourceArn: string, ...actions: string[]) => {
    if (!role) throw new Error('no such role');
    for (const action of actions) calls.push({ role, action, resourceArn, context: {} });
  };
  // Lambda writes the log of a function with its role:
  // https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs.html
  for (const id of Object.values(functions)) {
    const group = arnOf('AWS::Logs::LogGroup', `${id}Logs`).replace(/:\*$/, '');
    const stream = `${group}:log-stream:2026/11/20/[$LATEST]0`;
    add(roleOf(id), stream, 'logs:CreateLogStream', 'logs:PutLogEvents');
  }
  // The event source mapping polls the queue with the role of the function:
  // https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-configure.html
  const polls = ['ReceiveMessage', 'DeleteMessage', 'GetQueueAttributes'].map((action) => `sqs:${action}`);
  add(roleOf(functions.fanOut), arnOf('AWS::SQS::Queue', 'ChangedAdvertsQueue'), ...polls);
  // EventBridge Scheduler invokes its target with the role of the schedule.
  for (const id of [functions.drain, functions.refreshToken]) {
    const role = roles.find((each) => each.id.startsWith(`${id}ScheduleRole`));
    add(role, arnOf('AWS::Lambda::Function', id), 'lambda:InvokeFunction');
  }
  return calls;
}
