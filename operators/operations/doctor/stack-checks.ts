/** Checks of a deployed stack: what AWS runs for the bridge, and who gets its events. All requests to AWS only read. */
import { DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { GetFunctionConcurrencyCommand, GetFunctionConfigurationCommand } from '@aws-sdk/client-lambda';
import { paginateListSubscriptionsByTopic } from '@aws-sdk/client-sns';
import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { GetCallerIdentityCommand } from '@aws-sdk/client-sts';
import { settingsKey } from '../../../shared/contract/environment.ts';
import { maxReceiveCount } from '../../../shared/contract/messages.ts';
import { quoted } from '../../../shared/domain/text.ts';
import { alarmFinding, resourceFinding } from '../findings/findings.ts';
import { allPages, unlessMissing } from '../stack-clients.ts';
import { raisedAlarm, readMapping, readSchedules } from '../stack-state.ts';
import { bridgeChecks, problemOf } from './bridge-checks.ts';
import { busChecks } from './bus-checks.ts';
import { type Check, type Checks, orSkip } from './check.ts';
import type { StackFacts } from './stack-facts.ts';
import { storageChecks } from './storage-checks.ts';

interface NamedStack extends Pick<StackFacts, 'stack' | 'clients'> {
  /** Fails as opening does. */
  readonly opened: () => Promise<unknown>;
}

/** Of the place of the stack, whether or not there is one. */
export const placeChecks: Checks<NamedStack> = {
  async identity({ clients: { sts } }) {
    const { Account, Arn } = await sts.send(new GetCallerIdentityCommand({}));
    return { arn: Arn, account: Account, region: await sts.config.region() };
  },
  async stack({ clients, opened, stack }, report) {
    const identity = clients.sts.send(new GetCallerIdentityCommand({}));
    await orSkip(identity, 'needs-identity');
    await opened();
    const { Stacks = [] } = await clients.cloudFormation.send(
      new DescribeStacksCommand({ StackName: stack }),
    );
    const status = Stacks[0]?.StackStatus ?? 'gone';
    const facts = { stack, status };
    if (status.endsWith('_IN_PROGRESS')) report('deploying', facts);
    else if (status === 'UPDATE_ROLLBACK_COMPLETE') report('undone', facts);
    else if (/FAILED|ROLLBACK|DELETE|gone/.test(status)) report('broken', facts);
    return facts;
  },
};

/** The values from infra/constructs/changed-adverts.ts: the maximum retention, and ten times the timeout of fan-out. */
const leastSeconds = { MessageRetentionPeriod: 14 * 86_400, VisibilityTimeout: 600 };

const resourceCheck =
  (read: typeof readMapping): Check<StackFacts> =>
  async (facts, report) => {
    for (const fault of (await read(facts)).faults) report(problemOf(resourceFinding(fault, facts)));
  };

/** Of the bridge of the stack. */
export const stackChecks: Checks<StackFacts> = {
  async version({ outputs, version }, report) {
    if (outputs.version !== version) report('differs', { deployed: outputs.version, version });
    return { version };
  },
  async functions(facts, report) {
    const { lambda } = facts.clients;
    const { drainFunctionName, fanOutFunctionName, refreshTokenFunctionName, connectFunctionName } =
      facts.outputs;
    const names = [drainFunctionName, fanOutFunctionName, refreshTokenFunctionName, connectFunctionName];
    const reportFault = (code: string, name: string) =>
      report(problemOf(resourceFinding({ of: 'function', code, facts: { name } }, facts)));
    const settings = names.map(async (name) => {
      const asked = { FunctionName: name };
      const found = await unlessMissing(lambda.send(new GetFunctionConfigurationCommand(asked)));
      if (!found) return reportFault('function-gone', name);
      const { ReservedConcurrentExecutions } = await lambda.send(new GetFunctionConcurrencyCommand(asked));
      const { State: state, LastUpdateStatus: update, Environment } = found;
      if (state === 'Failed' || update === 'Failed') report('unusable', { name, state, update });
      else if (ReservedConcurrentExecutions === 0) reportFault('function-stopped', name);
      return Environment?.Variables?.[settingsKey];
    });
    if (new Set(await Promise.all(settings)).size > 1) report('differ', { setting: settingsKey });
    return { functions: names.length };
  },
  schedules: resourceCheck(readSchedules),
  'event-source-mapping': resourceCheck(readMapping),
  async queues({ outputs: { queueUrl, deadLetterQueueUrl }, clients: { sqs } }, report) {
    const attributesOf = async (QueueUrl: string): Promise<Readonly<Record<string, string>>> =>
      (await sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] }))).Attributes ?? {};
    const [main, dead] = await Promise.all([attributesOf(queueUrl), attributesOf(deadLetterQueueUrl)]);
    for (const [url, name, { [name]: seconds = '' }] of [
      [queueUrl, 'MessageRetentionPeriod', main],
      [deadLetterQueueUrl, 'MessageRetentionPeriod', dead],
      [queueUrl, 'VisibilityTimeout', main],
    ] as const) {
      const attributes = JSON.stringify({ [name]: String(leastSeconds[name]) });
      if (Number(seconds) < leastSeconds[name]) report(name, { url, seconds, attributes });
    }
    const { QueueArn: deadLetterTargetArn } = dead;
    const policy = JSON.parse(main.RedrivePolicy || '{}');
    if (policy.deadLetterTargetArn !== deadLetterTargetArn || !(policy.maxReceiveCount >= maxReceiveCount)) {
      const RedrivePolicy = JSON.stringify({ deadLetterTargetArn, maxReceiveCount });
      const attributes = JSON.stringify({ RedrivePolicy });
      report('RedrivePolicy', { url: queueUrl, receives: maxReceiveCount, attributes });
    }
  },
  async alarms(place, report) {
    const { alarms, outputs, stack } = place;
    const all = await alarms();
    for (const { name, alarm } of all) {
      // A deployment of the same template does not create resources again that were deleted by hand.
      if (!alarm) report('gone', { name, stack });
      else if (alarm.ActionsEnabled === false) report('silent', { name });
      else if (alarm.StateValue === 'ALARM')
        report(problemOf(alarmFinding(raisedAlarm(alarm, outputs), place)));
    }
    return { alarms: all.length };
  },
  async 'alarm-subscribers'({ alarms, clients: { sns } }, report) {
    const actions = new Set((await alarms()).flatMap(({ alarm }) => alarm?.AlarmActions ?? []));
    if (actions.size === 0) report('none');
    for (const topic of [...actions].filter((arn) => arn.split(':')[2] === 'sns')) {
      const pages = paginateListSubscriptionsByTopic({ client: sns }, { TopicArn: topic });
      const all = await allPages(pages, ({ Subscriptions }) => Subscriptions);
      const pending = all.find(({ SubscriptionArn = '' }) => !SubscriptionArn.startsWith('arn:'));
      const { Protocol: protocol = 'email', Endpoint: endpoint = 'ADDRESS' } = pending ?? {};
      const isTold = all.some(({ SubscriptionArn = '' }) => SubscriptionArn.startsWith('arn:'));
      const facts = { topic, protocol, endpoint, quotedEndpoint: quoted(endpoint) };
      if (all.length === 0) report('nobody', facts);
      if (pending) report(isTold ? 'one-pending' : 'all-pending', facts);
    }
  },
  ...busChecks,
  ...storageChecks,
  ...bridgeChecks,
};
