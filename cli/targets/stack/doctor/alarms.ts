import { DescribeAlarmsCommand, type MetricAlarm } from '@aws-sdk/client-cloudwatch';
import { paginateListSubscriptionsByTopic, type Subscription } from '@aws-sdk/client-sns';
import { allPages, once } from '../../../../operations/ask.ts';
import { check, type Finding, fault, ok, together, warning } from '../../../../operations/doctor.ts';
import { quoted } from '../../../../shared/domain/text/printable.ts';
import type { Facts } from './facts.ts';

/** Maximum number of alarms in one request. */
const alarmsAtOnce = 100;

export function alarmChecks({ target, clients, resources }: Facts) {
  const expected = once(async () =>
    (await resources('AWS::CloudWatch::Alarm')).map(({ PhysicalResourceId = '' }) => PhysicalResourceId),
  );
  const found = once(async () => {
    const AlarmNames = (await expected()).slice(0, alarmsAtOnce);
    if (AlarmNames.length === 0) return [];
    return (await clients.cloudWatch.send(new DescribeAlarmsCommand({ AlarmNames }))).MetricAlarms ?? [];
  });

  return [
    check('alarms', async () => {
      const names = await expected();
      const byName = new Map((await found()).map((alarm) => [alarm.AlarmName, alarm]));
      return together(
        `${names.length} are there, none has gone off`,
        names.map((name) => alarmFinding(target.stack, name, byName.get(name))),
      );
    }),
    check('alarm-subscribers', async () => {
      const actions = new Set((await found()).flatMap(({ AlarmActions = [] }) => AlarmActions));
      if (actions.size === 0) {
        return warning(
          'no alarm is sent to anybody',
          'Deploy the stack with an address and the settings that it has: `npx cdk deploy -c alarmEmail=ADDRESS`',
        );
      }
      const topics = [...actions].filter((arn) => arn.split(':')[2] === 'sns');
      const findings = await Promise.all(
        topics.map(async (TopicArn) => {
          const pages = paginateListSubscriptionsByTopic({ client: clients.sns }, { TopicArn });
          return topicFinding(TopicArn, await allPages(pages, ({ Subscriptions }) => Subscriptions));
        }),
      );
      return together('somebody is told of each', findings);
    }),
  ];
}

function alarmFinding(stack: string, name: string, alarm: MetricAlarm | undefined): Finding {
  if (!alarm) {
    return fault(
      `alarm ${name} was deleted`,
      // A deployment of the same template does not create resources again that were deleted by hand.
      `\`aws cloudformation detect-stack-drift --stack-name ${stack}\` and then \`aws cloudformation ` +
        `describe-stack-resource-drifts --stack-name ${stack}\` show how it was: make it with \`aws cloudwatch put-metric-alarm\``,
    );
  }
  if (alarm.ActionsEnabled === false) {
    return fault(
      `alarm ${name} tells nobody`,
      `\`aws cloudwatch enable-alarm-actions --alarm-names ${name}\``,
    );
  }
  if (alarm.StateValue !== 'ALARM') return ok(name);
  const page = /Runbook: (\S+)/.exec(alarm.AlarmDescription ?? '')?.[1] ?? 'docs/operate/runbook.md';
  return warning(`alarm ${name} has gone off`, page);
}

function topicFinding(arn: string, subscriptions: readonly Subscription[]): Finding {
  const isConfirmed = ({ SubscriptionArn = '' }: Subscription) => SubscriptionArn.startsWith('arn:');
  const [pending] = subscriptions.filter((each) => !isConfirmed(each));
  const subscribe = (protocol = 'email', endpoint = 'ADDRESS') =>
    `aws sns subscribe --topic-arn ${arn} --protocol ${protocol} --notification-endpoint ${quoted(endpoint)}`;
  if (pending) {
    const tell = subscriptions.some(isConfirmed) ? warning : fault;
    return tell(
      `${pending.Endpoint} has not confirmed that it wants the alarms`,
      `Confirm with the link in the mail of AWS; to have another one sent: \`${subscribe(pending.Protocol, pending.Endpoint)}\``,
    );
  }
  return subscriptions.length === 0 ? fault(`nobody is subscribed to ${arn}`, `\`${subscribe()}\``) : ok(arn);
}
