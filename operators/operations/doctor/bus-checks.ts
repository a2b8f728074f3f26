/** Checks of the buses of a stack: they exist, who may publish and subscribe, and who does. */
import { ListArchivesCommand, ListTargetsByRuleCommand } from '@aws-sdk/client-eventbridge';
import { policyOfCustomBus } from '../../../shared/aws/custom-event-bus.ts';
import { forEachConcurrent } from '../../../shared/domain/concurrency.ts';
import { makeAgainCommand } from '../errors.ts';
import { unlessMissing } from '../stack-clients.ts';
import { readSubscribers, rulesOf, subscriberState } from '../stack-state.ts';
import { type Check, type Checks, SkippedError } from './check.ts';
import type { StackFacts } from './stack-facts.ts';

/** A bus may have hundreds. */
const rulesAtOnce = 5;
/** Statements of infra/constructs/event-bus.ts and custom-event-bus.ts. */
const ownStatements = /^(Accounts|Organization)(Subscribe|(Make|Manage)Rules)$/;

interface Statement {
  readonly Sid?: string;
  readonly Effect?: string;
  readonly Principal?: unknown;
  readonly Action?: string | readonly string[];
  readonly Condition?: unknown;
}

type Report = Parameters<Check<StackFacts>>[1];

/** @param mendOf the command that takes a statement away */
function checkPolicy(text = '{}', mendOf: (sid: string) => string, report: Report): void {
  const policy = JSON.parse(text) as { Statement?: Statement | Statement[] };
  const statements = [policy.Statement ?? []].flat();
  for (const { Sid: sid = '', Effect, Principal = '', Action = [], Condition } of statements) {
    if (Effect !== 'Allow') continue;
    const actions = [Action].flat();
    const facts = { sid, actions: actions.join(', '), by: mendOf(sid) };
    if (JSON.stringify(Principal).includes('"*"') && Condition === undefined) report('everybody', facts);
    else if (actions.some((action) => /^(\*|events:(\*|Put\*|Put(Raw)?Events))$/.test(action)))
      report('publishers', facts);
    else if (!ownStatements.test(sid)) report('unknown', facts);
  }
  if (!statements.some(({ Effect }) => Effect === 'Deny')) report('open');
}

/** @throws {SkippedError} if a bus is gone */
async function needBuses({ outputs, buses }: StackFacts): Promise<void> {
  const { classic, custom } = await buses();
  if ((outputs.eventBusName && !classic) || (outputs.customEventBusArn && !custom))
    throw new SkippedError('needs-bus');
}

export const busChecks: Checks<StackFacts> = {
  async 'event-buses'({ outputs, buses }, report) {
    const { classic, custom } = await buses();
    const { eventBusName: bus, customEventBusArn: arn } = outputs;
    if (bus !== undefined && !classic) report('gone-classic', { bus });
    if (arn !== undefined && !custom) report('gone-custom', { arn });
    else if (custom && !/^(ACTIVE|UPDATING|UPDATE_FAILED)$/.test(`${custom.State}`))
      report('inactive', { arn, state: custom.State });
    return {};
  },
  async 'bus-policy'(facts, report) {
    await needBuses(facts);
    const { outputs, clients, buses, resourcesOf } = facts;
    const { eventBusName: bus = '', customEventBusArn: arn = '' } = outputs;
    const { classic, custom } = await buses();
    const isOwn = (await resourcesOf('AWS::Events::EventBus')).length > 0;
    if (!custom && !(classic && isOwn)) throw new SkippedError('foreign', { facts: { bus } });
    const remove = (sid: string) =>
      `aws events remove-permission --event-bus-name ${bus} --statement-id ${sid}`;
    if (classic && isOwn) checkPolicy(classic.Policy, remove, report);
    const stored = custom && (await unlessMissing(policyOfCustomBus(clients.customBus, arn)));
    if (custom) checkPolicy(stored?.PolicyDocument, () => makeAgainCommand, report);
    return {};
  },
  async subscribers(facts, report) {
    await needBuses(facts);
    const { outputs, clients } = facts;
    const { eventBusName: bus } = outputs;
    const rules = (await rulesOf({ outputs, clients })) ?? [];
    await forEachConcurrent(rules, rulesAtOnce, async ({ Name: name, State }) => {
      const asked = new ListTargetsByRuleCommand({ Rule: name, EventBusName: bus });
      if (State === 'DISABLED') report('disabled', { name, bus });
      else if (((await clients.events.send(asked)).Targets ?? []).length === 0)
        report('no-target', { name, bus });
    });
    const subscribers = (await readSubscribers({ outputs, clients })) ?? [];
    for (const one of subscribers) {
      const state = subscriberState(one).toLowerCase();
      const about = { name: one.Name, arn: one.SubscriberArn, state };
      if (state !== 'running') report(state === 'revoked' ? 'revoked' : 'stopped', about);
    }
    if (rules.length + subscribers.length === 0) report(bus === undefined ? 'none-custom' : 'none', { bus });
    return { rules: rules.length, subscribers: subscribers.length };
  },
  async archive(facts, report) {
    const { eventBusArn: arn } = facts.outputs;
    if (arn === undefined) throw new SkippedError('custom-alone');
    await needBuses(facts);
    const { Archives = [] } = await facts.clients.events.send(
      new ListArchivesCommand({ EventSourceArn: arn }),
    );
    if (!Archives.some(({ State }) => /^(ENABLED|UPDATING|CREATING)$/.test(State ?? '')))
      report('none', { arn });
  },
};
