/** Checks of the event bus of a stack: who may use it, who gets the events. */
import {
  DescribeEventBusCommand,
  ListArchivesCommand,
  ListTargetsByRuleCommand,
} from '@aws-sdk/client-eventbridge';
import { forEachConcurrent } from '../../shared/domain/concurrency.ts';
import { rulesOf } from '../stack-state.ts';
import { type Checks, fault, SkippedError, warning } from './check.ts';
import type { StackFacts } from './stack-facts.ts';

const rulesAtOnce = 5;
/** Statements of infra/constructs/event-bus.ts. */
const ownStatements = /^(Accounts|Organization)(Make|Manage)Rules$/;

interface Statement {
  readonly Sid?: string;
  readonly Effect?: string;
  readonly Principal?: unknown;
  readonly Action?: string | readonly string[];
  readonly Condition?: unknown;
}

export const busChecks: Checks<StackFacts> = {
  async 'bus-policy'({ outputs: { eventBusName: bus }, clients: { events }, resourcesOf }, report) {
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
    const nobody = `there is no rule on bus ${bus}: nobody gets the events`;
    if (rules.length === 0) report(warning(nobody, 'A team subscribes as in docs/subscribe/guide.md'));
    return `${rules.length} rules are enabled and have targets`;
  },
  async archive({ outputs: { eventBusArn: EventSourceArn }, clients: { events } }, report) {
    const { Archives = [] } = await events.send(new ListArchivesCommand({ EventSourceArn }));
    const create = `\`aws events create-archive --archive-name adverts --event-source-arn ${EventSourceArn} --retention-days 90\``;
    if (!Archives.some(({ State }) => /^(ENABLED|UPDATING|CREATING)$/.test(State ?? '')))
      report(warning('no event is archived, so none can be replayed', create));
    return 'events are archived';
  },
};
