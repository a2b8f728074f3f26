/** Checks of a deployed stack: what AWS runs for the bridge. All requests to AWS only read. */
import { DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { GetFunctionConcurrencyCommand, GetFunctionConfigurationCommand } from '@aws-sdk/client-lambda';
import { paginateListSubscriptionsByTopic, type Subscription } from '@aws-sdk/client-sns';
import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { GetCallerIdentityCommand } from '@aws-sdk/client-sts';
import { settingsKey } from '../../shared/contract/environment.ts';
import { maxReceiveCount } from '../../shared/contract/messages.ts';
import { quoted } from '../../shared/domain/text.ts';
import { once } from '../bridge.ts';
import { alarmFinding } from '../findings.ts';
import { allPages, type StackClients, unlessMissing } from '../stack-clients.ts';
import { alarmsOf, raisedAlarm, readMapping, readSchedules, type StackPlaces } from '../stack-state.ts';
import { bridgeChecks, problemOf } from './bridge-checks.ts';
import { busChecks } from './bus-checks.ts';
import { type Checks, fault, judged, orSkip, type Problem, warning } from './check.ts';
import { type NamedStack, stackFacts } from './stack-facts.ts';
import { storageChecks } from './storage-checks.ts';

/** A deployment only compares templates: with the same template, it does not undo changes that were made by hand. */
const redeploy =
  'Deploy with another maxRequestsPerSecond, then with the right one: `npx cdk deploy -c maxRequestsPerSecond=N` and the ' +
  'settings that the stack has';
const recreate =
  'No deployment makes again what was deleted by hand: destroy the stack and deploy it again, as in ' +
  'docs/operate/deploy.md#deploy-again-after-a-destroy';

type Said = Pick<Problem, 'says' | 'mend'>;

/** The values from infra/constructs/changed-adverts.ts: the maximum retention, and ten times the timeout of fan-out. */
const retention = {
  name: 'MessageRetentionPeriod',
  seconds: 14 * 86_400,
  verb: 'keeps messages for',
  so: 'and what waits longer is lost',
};
const visibility = {
  name: 'VisibilityTimeout',
  seconds: 600,
  verb: 'hands messages out again after',
  so: 'perhaps while fan-out still works on them',
};

export function stackChecks(named: NamedStack): Checks {
  const facts = stackFacts(named);
  const { places, clients, opened, stack, resources } = facts;
  const identity = once(() => clients.sts.send(new GetCallerIdentityCommand({})));
  const accepted = orSkip(identity, 'needs an identity that AWS accepts: see identity');
  const alarms = once(async () => {
    const known = await alarmsOf(await places());
    return (await resources('AWS::CloudWatch::Alarm')).map(({ PhysicalResourceId: name = '' }) => ({
      name,
      alarm: known.find(({ AlarmName }) => AlarmName === name),
    }));
  });
  const resource =
    (fine: string, look: (stack: StackPlaces) => Promise<{ faults: readonly Said[] }>) => async () =>
      judged(
        fine,
        ...(await look(await places())).faults.map(({ says, mend }) => fault(says, `\`${mend}\``)),
      );

  return {
    async identity() {
      const { Account, Arn } = await identity();
      return judged(`${Arn} in AWS account ${Account}, region ${await clients.sts.config.region()}`);
    },
    async stack() {
      await accepted();
      await opened();
      const { Stacks = [] } = await clients.cloudFormation.send(
        new DescribeStacksCommand({ StackName: stack }),
      );
      const status = Stacks[0]?.StackStatus ?? 'gone';
      const says = `stack ${stack} is ${status}`;
      return judged(says, deploymentProblem(status, says, stack));
    },
    async version() {
      const { version } = (await places()).outputs;
      const mend = `Deploy the version of this command with \`npx cdk deploy\`, or use the command of ${version}`;
      return judged(
        `stack and command are ${facts.version}`,
        version !== facts.version && warning(`the stack is ${version}, this command ${facts.version}`, mend),
      );
    },
    async functions() {
      const { outputs } = await places();
      const { drainFunctionName, fanOutFunctionName, refreshTokenFunctionName, connectFunctionName } =
        outputs;
      const names = [drainFunctionName, fanOutFunctionName, refreshTokenFunctionName, connectFunctionName];
      const found = await Promise.all(names.map((name) => lookAtFunction(clients.lambda, name)));
      const isSame = new Set(found.map(({ settings }) => settings)).size <= 1;
      return judged(
        `${names.length} can run`,
        ...found.map(({ problem }) => problem),
        !isSame && fault(`the functions have different ${settingsKey}`, redeploy),
      );
    },
    schedules: resource('all are enabled', readSchedules),
    'event-source-mapping': resource('it passes messages on', readMapping),
    async queues() {
      const { queueUrl, deadLetterQueueUrl } = (await places()).outputs;
      const attributesOf = async (QueueUrl: string) => {
        const asked = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] });
        return (await clients.sqs.send(asked)).Attributes ?? {};
      };
      const [main, dead] = await Promise.all([attributesOf(queueUrl), attributesOf(deadLetterQueueUrl)]);
      const policy = JSON.parse(main.RedrivePolicy || '{}');
      const isRight =
        policy.deadLetterTargetArn === dead.QueueArn && Number(policy.maxReceiveCount) >= maxReceiveCount;
      const redrive = JSON.stringify({ deadLetterTargetArn: dead.QueueArn, maxReceiveCount });
      return judged(
        'both are as the stack makes them',
        tooShort(queueUrl, main, retention),
        tooShort(deadLetterQueueUrl, dead, retention),
        tooShort(queueUrl, main, visibility),
        !isRight &&
          fault(
            `${queueUrl} does not move messages to the dead letters after ${maxReceiveCount} receives`,
            setAttribute(queueUrl, 'RedrivePolicy', redrive),
          ),
      );
    },
    async alarms() {
      const [all, { bridge }] = await Promise.all([alarms(), places()]);
      const problems = all.map(({ name, alarm }) => {
        // A deployment of the same template does not create resources again that were deleted by hand.
        const show =
          `\`aws cloudformation detect-stack-drift --stack-name ${stack}\` and then \`aws cloudformation ` +
          `describe-stack-resource-drifts --stack-name ${stack}\` show how it was: make it with \`aws cloudwatch put-metric-alarm\``;
        if (!alarm) return fault(`alarm ${name} was deleted`, show);
        const enable = `\`aws cloudwatch enable-alarm-actions --alarm-names ${name}\``;
        if (alarm.ActionsEnabled === false) return fault(`alarm ${name} tells nobody`, enable);
        return alarm.StateValue === 'ALARM' && problemOf(alarmFinding(raisedAlarm(alarm, bridge)));
      });
      return judged(`${all.length} are there, none is raised`, ...problems);
    },
    async 'alarm-subscribers'() {
      const actions = new Set((await alarms()).flatMap(({ alarm }) => alarm?.AlarmActions ?? []));
      const deploy =
        'Deploy the stack with an address and the settings that it has: `npx cdk deploy -c alarmEmail=ADDRESS`';
      const topics = [...actions].filter((arn) => arn.split(':')[2] === 'sns');
      const problems = topics.map(async (TopicArn) => {
        const pages = paginateListSubscriptionsByTopic({ client: clients.sns }, { TopicArn });
        return topicProblem(TopicArn, await allPages(pages, ({ Subscriptions }) => Subscriptions));
      });
      return judged(
        'somebody is told of each',
        actions.size === 0 && warning('no alarm is sent to anybody', deploy),
        ...(await Promise.all(problems)),
      );
    },
    ...busChecks(facts),
    ...storageChecks(facts),
    ...bridgeChecks(facts).checks,
  };
}

function deploymentProblem(status: string, says: string, stack: string): Problem | false {
  if (status.endsWith('_IN_PROGRESS')) return warning(says, 'Wait for the deployment, then run doctor again');
  if (status === 'UPDATE_ROLLBACK_COMPLETE') {
    const why = `\`aws cloudformation describe-stack-events --stack-name ${stack}\` says why; then \`npx cdk deploy\``;
    return warning(`${says}: the last deployment failed and was undone`, why);
  }
  return (
    /FAILED|ROLLBACK|DELETE|gone/.test(status) &&
    fault(says, 'Deploy it again with `npx cdk deploy` and the settings that it has')
  );
}

async function lookAtFunction(lambda: StackClients['lambda'], FunctionName: string) {
  const found = await unlessMissing(
    Promise.all([
      lambda.send(new GetFunctionConfigurationCommand({ FunctionName })),
      lambda.send(new GetFunctionConcurrencyCommand({ FunctionName })),
    ]),
  );
  if (!found) return { settings: undefined, problem: fault(`function ${FunctionName} is gone`, recreate) };
  const [{ State, LastUpdateStatus, Environment }, { ReservedConcurrentExecutions }] = found;
  const isUsable = State !== 'Failed' && LastUpdateStatus !== 'Failed';
  const unusable = `function ${FunctionName} is not usable (${State}, last update ${LastUpdateStatus})`;
  const allow = `\`aws lambda delete-function-concurrency --function-name ${FunctionName}\``;
  const problem = isUsable
    ? ReservedConcurrentExecutions === 0 &&
      fault(`function ${FunctionName} may not run: its reserved concurrency is 0`, allow)
    : fault(unusable, redeploy);
  return { settings: Environment?.Variables?.[settingsKey], problem };
}

function tooShort(
  url: string,
  attributes: Readonly<Record<string, string>>,
  { name, seconds, verb, so }: typeof retention,
): Problem | false {
  const actual = attributes[name];
  const mend = setAttribute(url, name, String(seconds));
  return Number(actual) < seconds && warning(`${url} ${verb} ${actual} s, ${so}`, mend);
}

const setAttribute = (url: string, name: string, value: string): string =>
  `\`aws sqs set-queue-attributes --queue-url ${url} --attributes '${JSON.stringify({ [name]: value })}'\``;

function topicProblem(arn: string, subscriptions: readonly Subscription[]): Problem | false {
  const isConfirmed = ({ SubscriptionArn = '' }: Subscription) => SubscriptionArn.startsWith('arn:');
  const [pending] = subscriptions.filter((each) => !isConfirmed(each));
  const subscribe = (protocol = 'email', endpoint = 'ADDRESS') =>
    `\`aws sns subscribe --topic-arn ${arn} --protocol ${protocol} --notification-endpoint ${quoted(endpoint)}\``;
  if (!pending) return subscriptions.length === 0 && fault(`nobody is subscribed to ${arn}`, subscribe());
  const problem = subscriptions.some(isConfirmed) ? warning : fault;
  return problem(
    `${pending.Endpoint} has not confirmed that it wants the alarms`,
    `Confirm with the link in the mail of AWS; to have another one sent: ${subscribe(pending.Protocol, pending.Endpoint)}`,
  );
}
