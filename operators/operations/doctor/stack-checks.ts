/** Checks of a deployed stack: what AWS runs for the bridge, and who gets its events. All requests to AWS only read. */
import { DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import {
  DescribeEventBusCommand,
  ListArchivesCommand,
  ListTargetsByRuleCommand,
} from '@aws-sdk/client-eventbridge';
import { GetFunctionConcurrencyCommand, GetFunctionConfigurationCommand } from '@aws-sdk/client-lambda';
import { paginateListSubscriptionsByTopic } from '@aws-sdk/client-sns';
import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { GetCallerIdentityCommand } from '@aws-sdk/client-sts';
import { settingsKey } from '../../../shared/contract/environment.ts';
import { maxReceiveCount } from '../../../shared/contract/messages.ts';
import { forEachConcurrent } from '../../../shared/domain/concurrency.ts';
import { quoted } from '../../../shared/domain/text.ts';
import { bridgeFinding } from '../findings/findings.ts';
import { alarmFound } from '../findings/looks.ts';
import { allPages, unlessMissing } from '../stack-clients.ts';
import { raisedAlarm, readMapping, readSchedules, rulesOf, stateOf, subscribersOf } from '../stack-state.ts';
import { bridgeChecks, problemOf } from './bridge-checks.ts';
import { type Check, type Checks, fault, orSkip, SkippedError, warning } from './check.ts';
import type { StackFacts } from './stack-facts.ts';
import { storageChecks } from './storage-checks.ts';

/** A deployment only compares templates: with the same template, it does not undo changes that were made by hand. */
const redeploy =
  'Deploy with another maxRequestsPerSecond, then with the right one: `npx cdk deploy -c maxRequestsPerSecond=N` and the ' +
  'settings that the stack has';
const recreate =
  'No deployment makes again what was deleted by hand: destroy the stack and deploy it again, as in ' +
  'docs/operate/deploy.md#deploy-again-after-a-destroy';

interface NamedStack extends Pick<StackFacts, 'stack' | 'clients'> {
  /** Fails as opening does. */
  readonly opened: () => Promise<unknown>;
}

/** Of the place of the stack, whether or not there is one. */
export const placeChecks: Checks<NamedStack> = {
  async identity({ clients: { sts } }) {
    const { Account, Arn } = await sts.send(new GetCallerIdentityCommand({}));
    return `${Arn} in AWS account ${Account}, region ${await sts.config.region()}`;
  },
  async stack({ clients, opened, stack }, report) {
    const identity = clients.sts.send(new GetCallerIdentityCommand({}));
    await orSkip(identity, 'needs an identity that AWS accepts: see identity');
    await opened();
    const { Stacks = [] } = await clients.cloudFormation.send(
      new DescribeStacksCommand({ StackName: stack }),
    );
    const status = Stacks[0]?.StackStatus ?? 'gone';
    const says = `stack ${stack} is ${status}`;
    const undone = `${says}: the last deployment failed and was undone`;
    const events = `\`aws cloudformation describe-stack-events --stack-name ${stack}\``;
    if (status.endsWith('_IN_PROGRESS'))
      report(warning(says, 'Wait for the deployment, then run doctor again'));
    else if (status === 'UPDATE_ROLLBACK_COMPLETE')
      report(warning(undone, `${events} says why; then \`npx cdk deploy\``));
    else if (/FAILED|ROLLBACK|DELETE|gone/.test(status))
      report(fault(says, 'Deploy it again with `npx cdk deploy` and the settings that it has'));
    return says;
  },
};

/** The values from infra/constructs/changed-adverts.ts: the maximum retention, and ten times the timeout of fan-out. */
const leastSeconds = {
  MessageRetentionPeriod: [14 * 86_400, 'keeps messages for N s, and what waits longer is lost'],
  VisibilityTimeout: [600, 'hands messages out again after N s, perhaps while fan-out still works on them'],
} as const;

const resourceCheck =
  (read: typeof readMapping, fine: string): Check<StackFacts> =>
  async (facts, report) => {
    for (const { says, mend } of (await read(facts)).faults) report(fault(says, `\`${mend}\``));
    return fine;
  };

/** A bus may have hundreds. */
const rulesAtOnce = 5;
/** Statements of infra/constructs/event-bus.ts. */
const customAlone =
  'the bridge publishes on the Custom Event Bus alone, which has neither rules nor an archive';
const ownStatements = /^(Accounts|Organization)(Make|Manage)Rules$/;

interface Statement {
  readonly Sid?: string;
  readonly Effect?: string;
  readonly Principal?: unknown;
  readonly Action?: string | readonly string[];
  readonly Condition?: unknown;
}

/** Of the bridge of the stack. */
export const stackChecks: Checks<StackFacts> = {
  async version({ outputs, version }, report) {
    const mend = `Deploy the version of this command with \`npx cdk deploy\`, or use the command of ${outputs.version}`;
    if (outputs.version !== version)
      report(warning(`the stack is ${outputs.version}, this command ${version}`, mend));
    return `stack and command are ${version}`;
  },
  async functions({ outputs, clients: { lambda } }, report) {
    const { drainFunctionName, fanOutFunctionName, refreshTokenFunctionName, connectFunctionName } = outputs;
    const names = [drainFunctionName, fanOutFunctionName, refreshTokenFunctionName, connectFunctionName];
    const settings = names.map(async (FunctionName) => {
      const [says, asked] = [`function ${FunctionName}`, { FunctionName }];
      const found = await unlessMissing(lambda.send(new GetFunctionConfigurationCommand(asked)));
      if (!found) return report(fault(`${says} is gone`, recreate));
      const { ReservedConcurrentExecutions } = await lambda.send(new GetFunctionConcurrencyCommand(asked));
      const { State, LastUpdateStatus: update, Environment } = found;
      const allow = `\`aws lambda delete-function-concurrency --function-name ${FunctionName}\``;
      if (State === 'Failed' || update === 'Failed')
        report(fault(`${says} is not usable (${State}, last update ${update})`, redeploy));
      else if (ReservedConcurrentExecutions === 0)
        report(fault(`${says} may not run: its reserved concurrency is 0`, allow));
      return Environment?.Variables?.[settingsKey];
    });
    if (new Set(await Promise.all(settings)).size > 1)
      report(fault(`the functions have different ${settingsKey}`, redeploy));
    return `${names.length} can run`;
  },
  schedules: resourceCheck(readSchedules, 'all are enabled'),
  'event-source-mapping': resourceCheck(readMapping, 'it passes messages on'),
  async queues({ outputs: { queueUrl, deadLetterQueueUrl }, clients: { sqs } }, report) {
    const attributesOf = async (QueueUrl: string): Promise<Readonly<Record<string, string>>> =>
      (await sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] }))).Attributes ?? {};
    const [main, dead] = await Promise.all([attributesOf(queueUrl), attributesOf(deadLetterQueueUrl)]);
    const setAttribute = (url: string, name: string, value: string) =>
      `\`aws sqs set-queue-attributes --queue-url ${url} --attributes '${JSON.stringify({ [name]: value })}'\``;
    for (const [url, name, { [name]: seconds = '' }] of [
      [queueUrl, 'MessageRetentionPeriod', main],
      [deadLetterQueueUrl, 'MessageRetentionPeriod', dead],
      [queueUrl, 'VisibilityTimeout', main],
    ] as const) {
      const [least, says] = leastSeconds[name];
      const mend = setAttribute(url, name, String(least));
      if (Number(seconds) < least) report(warning(`${url} ${says.replace('N', seconds)}`, mend));
    }
    const { QueueArn: deadLetterTargetArn } = dead;
    const policy = JSON.parse(main.RedrivePolicy || '{}');
    if (policy.deadLetterTargetArn !== deadLetterTargetArn || !(policy.maxReceiveCount >= maxReceiveCount)) {
      const says = `${queueUrl} does not move messages to the dead letters after ${maxReceiveCount} receives`;
      const redrive = JSON.stringify({ deadLetterTargetArn, maxReceiveCount });
      report(fault(says, setAttribute(queueUrl, 'RedrivePolicy', redrive)));
    }
    return 'both are as the stack makes them';
  },
  async alarms(place, report) {
    const { alarms, outputs, stack } = place;
    const all = await alarms();
    // A deployment of the same template does not create resources again that were deleted by hand.
    const show =
      `\`aws cloudformation detect-stack-drift --stack-name ${stack}\` and then \`aws cloudformation ` +
      `describe-stack-resource-drifts --stack-name ${stack}\` show how it was: make it with \`aws cloudwatch put-metric-alarm\``;
    for (const { name, alarm } of all) {
      const enable = `\`aws cloudwatch enable-alarm-actions --alarm-names ${name}\``;
      if (!alarm) report(fault(`alarm ${name} was deleted`, show));
      else if (alarm.ActionsEnabled === false) report(fault(`alarm ${name} tells nobody`, enable));
      else if (alarm.StateValue === 'ALARM')
        report(problemOf(bridgeFinding('alarm', alarmFound(raisedAlarm(alarm, outputs)), place)));
    }
    return `${all.length} are there, none is raised`;
  },
  async 'alarm-subscribers'({ alarms, clients: { sns } }, report) {
    const actions = new Set((await alarms()).flatMap(({ alarm }) => alarm?.AlarmActions ?? []));
    const deploy =
      'Deploy the stack with an address and the settings that it has: `npx cdk deploy -c alarmEmail=ADDRESS`';
    if (actions.size === 0) report(warning('no alarm is sent to anybody', deploy));
    for (const TopicArn of [...actions].filter((arn) => arn.split(':')[2] === 'sns')) {
      const pages = paginateListSubscriptionsByTopic({ client: sns }, { TopicArn });
      const all = await allPages(pages, ({ Subscriptions }) => Subscriptions);
      const pending = all.find(({ SubscriptionArn = '' }) => !SubscriptionArn.startsWith('arn:'));
      const { Protocol = 'email', Endpoint = 'ADDRESS' } = pending ?? {};
      const subscribe = `\`aws sns subscribe --topic-arn ${TopicArn} --protocol ${Protocol} --notification-endpoint ${quoted(Endpoint)}\``;
      const confirm = `Confirm with the link in the mail of AWS; to have another one sent: ${subscribe}`;
      const isTold = all.some(({ SubscriptionArn = '' }) => SubscriptionArn.startsWith('arn:'));
      if (all.length === 0) report(fault(`nobody is subscribed to ${TopicArn}`, subscribe));
      if (pending)
        report((isTold ? warning : fault)(`${Endpoint} has not confirmed that it wants the alarms`, confirm));
    }
    return 'somebody is told of each';
  },
  async 'bus-policy'({ outputs: { eventBusName: bus }, clients: { events }, resourcesOf }, report) {
    if (bus === undefined) throw new SkippedError(customAlone);
    if ((await resourcesOf('AWS::Events::EventBus')).length === 0)
      throw new SkippedError(`bus ${bus} is not of this stack: its owner decides who may use it`);
    const { Policy = '{}' } = await events.send(new DescribeEventBusCommand({ Name: bus }));
    const policy = JSON.parse(Policy) as { Statement?: Statement | Statement[] };
    for (const { Sid = '', Effect, Principal = '', Action = [], Condition } of [
      policy.Statement ?? [],
    ].flat()) {
      if (Effect !== 'Allow') continue;
      const mend = `\`aws events remove-permission --event-bus-name ${bus} --statement-id ${Sid}\``;
      const says = `statement ${Sid} of the bus policy`;
      const actions = [Action].flat();
      if (JSON.stringify(Principal).includes('"*"') && Condition === undefined)
        report(fault(`${says} lets every AWS account ${actions.join(', ')}`, mend));
      else if (actions.some((action) => /^(\*|events:(\*|Put\*|PutEvents))$/.test(action)))
        report(fault(`${says} lets others publish in the bridge's name`, mend));
      else if (!ownStatements.test(Sid)) report(warning(`${says} is not of the stack`, mend));
    }
    return 'no AWS account may do more on it than the stack says';
  },
  async subscribers({ outputs, clients }, report) {
    const { eventBusName: bus } = outputs;
    const rules = await rulesOf({ outputs, clients });
    await forEachConcurrent(rules, rulesAtOnce, async ({ Name, State }) => {
      const isOff = State === 'DISABLED';
      const asked = new ListTargetsByRuleCommand({ Rule: Name, EventBusName: bus });
      const enable = `\`aws events enable-rule --name ${Name} --event-bus-name ${bus}\``;
      const put = `Its team gives it one: \`aws events put-targets --rule ${Name} --event-bus-name ${bus} …\``;
      if (isOff) report(warning(`rule ${Name} is disabled: its team gets no events`, enable));
      else if (((await clients.events.send(asked)).Targets ?? []).length === 0)
        report(warning(`rule ${Name} has no target`, put));
    });
    const subscribers = (await subscribersOf({ outputs, clients })) ?? [];
    for (const one of subscribers) {
      const start = `Its team starts it: \`aws eventsv2 update-subscriber --subscriber-arn ${one.SubscriberArn} --state RUNNING\``;
      const replace = 'Its team makes another one: docs/subscribe/cdk.md#on-the-custom-event-bus';
      const state = stateOf(one);
      if (state !== 'RUNNING')
        report(
          warning(
            `subscriber ${one.Name} is ${state.toLowerCase()}: its team gets no events`,
            state === 'REVOKED' ? replace : start,
          ),
        );
    }
    const none = bus === undefined ? 'no subscriber on the Custom Event Bus' : `no rule on bus ${bus}`;
    if (rules.length + subscribers.length === 0)
      report(
        warning(
          `there is ${none}: nobody gets the events`,
          'A team subscribes as in docs/subscribe/guide.md',
        ),
      );
    return `${rules.length} rules are enabled and have targets, ${subscribers.length} subscribers run`;
  },
  async archive({ outputs: { eventBusArn: EventSourceArn }, clients: { events } }, report) {
    if (EventSourceArn === undefined) throw new SkippedError(customAlone);
    const { Archives = [] } = await events.send(new ListArchivesCommand({ EventSourceArn }));
    const create = `\`aws events create-archive --archive-name adverts --event-source-arn ${EventSourceArn} --retention-days 90\``;
    if (!Archives.some(({ State }) => /^(ENABLED|UPDATING|CREATING)$/.test(State ?? '')))
      report(warning('no event is archived, so none can be replayed', create));
    return 'events are archived';
  },
  ...storageChecks,
  ...bridgeChecks,
};
