/** Checks of a deployed stack: what AWS runs for the bridge. */
import { DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import {
  GetFunctionConcurrencyCommand,
  GetFunctionConfigurationCommand,
  ResourceNotFoundException,
} from '@aws-sdk/client-lambda';
import { paginateListSubscriptionsByTopic, type Subscription } from '@aws-sdk/client-sns';
import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { settingsKey } from '../../shared/contract/environment.ts';
import { maxReceiveCount } from '../../shared/contract/messages.ts';
import { alarmOfBridge } from '../../shared/contract/names.ts';
import { quoted } from '../../shared/domain/text.ts';
import { allPages } from '../ask.ts';
import { alarmFinding } from '../findings.ts';
import { readMapping, readSchedules } from '../stack-state.ts';
import { bridgeChecks, problemOf } from './bridge-checks.ts';
import { busChecks } from './bus-checks.ts';
import { type Checks, fault, judged, type Problem, SkippedError, warning } from './check.ts';
import type { StackFacts } from './stack-facts.ts';
import { storageChecks } from './storage-checks.ts';

/** A deployment only compares templates: with the same template, it does not undo changes that were made by hand. */
const redeploy =
  'Deploy with another maxRequestsPerSecond, then with the right one: `npx cdk deploy -c maxRequestsPerSecond=N` and the ' +
  'settings that the stack has';
const recreate =
  'No deployment makes again what was deleted by hand: destroy the stack and deploy it again, as in ' +
  'docs/operate/deploy.md#deploy-again-after-a-destroy';

/** The values from infra/constructs/changed-adverts.ts: ten times the timeout of fan-out, and the maximum retention. */
const visibilitySeconds = 600;
const retentionSeconds = 14 * 86_400;

export const stackChecks: Checks<StackFacts> = {
  async identity({ identity, clients }) {
    const { Account, Arn } = await identity();
    return judged(`${Arn} in AWS account ${Account}, region ${await clients.sts.config.region()}`);
  },
  async stack({ identity, opened, clients, stack }) {
    await identity().catch((cause: unknown) => {
      throw new SkippedError('needs an identity that AWS accepts: see identity', { cause });
    });
    await opened();
    const asked = new DescribeStacksCommand({ StackName: stack });
    const { Stacks = [] } = await clients.cloudFormation.send(asked);
    const status = Stacks[0]?.StackStatus ?? 'gone';
    const says = `stack ${stack} is ${status}`;
    return judged(says, deploymentProblem(status, says, stack));
  },
  async version({ bridge, version: own }) {
    const { version } = (await bridge()).outputs;
    const mend = `Deploy the version of this command with \`npx cdk deploy\`, or use the command of ${version}`;
    return judged(
      `stack and command are ${own}`,
      version !== own && warning(`the stack is ${version}, this command ${own}`, mend),
    );
  },
  async functions({ bridge, clients }) {
    const { outputs } = await bridge();
    const { drainFunctionName, fanOutFunctionName, refreshTokenFunctionName, connectFunctionName } = outputs;
    const names = [drainFunctionName, fanOutFunctionName, refreshTokenFunctionName, connectFunctionName];
    const found = await Promise.all(names.map((name) => lookAtFunction(clients.lambda, name)));
    const isSame = new Set(found.map(({ settings }) => settings)).size <= 1;
    return judged(
      `${names.length} can run`,
      ...found.map(({ problem }) => problem),
      !isSame && fault(`the functions have different ${settingsKey}`, redeploy),
    );
  },
  async schedules({ bridge, clients }) {
    const { faults } = await readSchedules(clients.scheduler, (await bridge()).outputs);
    return judged('all are enabled', ...faults.map(({ says, mend }) => fault(says, `\`${mend}\``)));
  },
  async 'event-source-mapping'({ bridge, clients }) {
    const { state, faults } = await readMapping(clients.lambda, (await bridge()).outputs);
    return judged(`it is ${state}`, ...faults.map(({ says, mend }) => fault(says, `\`${mend}\``)));
  },
  async queues({ bridge, clients }) {
    const { queueUrl, deadLetterQueueUrl } = (await bridge()).outputs;
    const attributesOf = async (QueueUrl: string) => {
      const asked = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] });
      const { Attributes = {} } = await clients.sqs.send(asked);
      return Attributes;
    };
    const [main, dead] = await Promise.all([attributesOf(queueUrl), attributesOf(deadLetterQueueUrl)]);
    const retentions = [
      retentionProblem(queueUrl, main.MessageRetentionPeriod),
      retentionProblem(deadLetterQueueUrl, dead.MessageRetentionPeriod),
    ];
    const seconds = main.VisibilityTimeout;
    const policy = JSON.parse(main.RedrivePolicy || '{}');
    const wanted = { deadLetterTargetArn: dead.QueueArn, maxReceiveCount };
    const isRight =
      policy.deadLetterTargetArn === dead.QueueArn && Number(policy.maxReceiveCount) >= maxReceiveCount;
    return judged(
      'both are as the stack makes them',
      ...retentions,
      Number(seconds) < visibilitySeconds &&
        warning(
          `messages of ${queueUrl} come back after ${seconds} s, perhaps while fan-out still works on them`,
          setAttribute(queueUrl, 'VisibilityTimeout', String(visibilitySeconds)),
        ),
      !isRight &&
        fault(
          `${queueUrl} does not move messages to the dead letters after ${maxReceiveCount} receives`,
          setAttribute(queueUrl, 'RedrivePolicy', JSON.stringify(wanted)),
        ),
    );
  },
  async alarms({ stack, bridge, alarms }) {
    const { bridgeName } = (await bridge()).outputs;
    const all = await alarms();
    const problems = all.map(({ name, alarm }) => {
      if (!alarm) {
        return fault(
          `alarm ${name} was deleted`,
          // A deployment of the same template does not create resources again that were deleted by hand.
          `\`aws cloudformation detect-stack-drift --stack-name ${stack}\` and then \`aws cloudformation ` +
            `describe-stack-resource-drifts --stack-name ${stack}\` show how it was: make it with \`aws cloudwatch put-metric-alarm\``,
        );
      }
      if (alarm.ActionsEnabled === false) {
        const enable = `\`aws cloudwatch enable-alarm-actions --alarm-names ${name}\``;
        return fault(`alarm ${name} tells nobody`, enable);
      }
      const raised = { name: alarmOfBridge(name, bridgeName) ?? name, since: null };
      return (
        alarm.StateValue === 'ALARM' &&
        problemOf(alarmFinding({ ...raised, says: alarm.AlarmDescription ?? '' }))
      );
    });
    return judged(`${all.length} are there, none is raised`, ...problems);
  },
  async 'alarm-subscribers'({ alarms, clients }) {
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
  ...busChecks,
  ...storageChecks,
  ...bridgeChecks,
};

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

async function lookAtFunction(lambda: StackFacts['clients']['lambda'], FunctionName: string) {
  try {
    const [{ State, LastUpdateStatus, Environment }, { ReservedConcurrentExecutions }] = await Promise.all([
      lambda.send(new GetFunctionConfigurationCommand({ FunctionName })),
      lambda.send(new GetFunctionConcurrencyCommand({ FunctionName })),
    ]);
    const isUsable = State !== 'Failed' && LastUpdateStatus !== 'Failed';
    const unusable = `function ${FunctionName} is not usable (${State}, last update ${LastUpdateStatus})`;
    const allow = `\`aws lambda delete-function-concurrency --function-name ${FunctionName}\``;
    const problem = isUsable
      ? ReservedConcurrentExecutions === 0 &&
        fault(`function ${FunctionName} may not run: its reserved concurrency is 0`, allow)
      : fault(unusable, redeploy);
    return { settings: Environment?.Variables?.[settingsKey], problem };
  } catch (error) {
    if (!(error instanceof ResourceNotFoundException)) throw error;
    return { settings: undefined, problem: fault(`function ${FunctionName} is gone`, recreate) };
  }
}

const retentionProblem = (url: string, seconds: string | undefined): Problem | false =>
  Number(seconds) < retentionSeconds &&
  warning(
    `${url} keeps messages for ${seconds} s only: what waits longer is lost`,
    setAttribute(url, 'MessageRetentionPeriod', String(retentionSeconds)),
  );

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
