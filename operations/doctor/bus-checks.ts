/** Checks of the event bus of a stack: who may use it, who gets the events. */
import {
  DescribeEventBusCommand,
  type EventBridgeClient,
  ListArchivesCommand,
  ListTargetsByRuleCommand,
  type Rule,
} from '@aws-sdk/client-eventbridge';
import { forEachConcurrent } from '../../shared/domain/concurrency.ts';
import { rulesOf } from '../stack-state.ts';
import { type Checks, fault, judged, type Problem, SkippedError, warning } from './check.ts';
import type { StackFacts } from './stack-facts.ts';

const rulesAtOnce = 5;
/** Statements of infra/constructs/event-bus.ts. */
const ownStatements = /^(Accounts|Organization)(Make|Manage)Rules$/;

export const busChecks = ({ places, clients: { events }, resources }: StackFacts): Checks => ({
  async 'bus-policy'() {
    const { eventBusName: Name } = (await places()).outputs;
    if ((await resources('AWS::Events::EventBus')).length === 0)
      throw new SkippedError(`bus ${Name} is not of this stack: its owner decides who may use it`);
    const { Policy = '{}' } = await events.send(new DescribeEventBusCommand({ Name }));
    const { Statement = [] } = JSON.parse(Policy) as { Statement?: Statement | Statement[] };
    const problems = [Statement].flat().map((statement) => statementProblem(Name, statement));
    return judged('no AWS account may do more on it than the stack says', ...problems);
  },
  async subscribers() {
    const stack = await places();
    const { eventBusName: bus } = stack.outputs;
    const rules = await rulesOf(stack);
    const problems: (Problem | false)[] = [];
    await forEachConcurrent(rules, rulesAtOnce, async (rule) => {
      problems.push(await ruleProblem(events, bus, rule));
    });
    const nobody = `there is no rule on bus ${bus}: nobody gets the events`;
    return judged(
      `${rules.length} rules are enabled and have targets`,
      rules.length === 0 && warning(nobody, 'A team subscribes as in docs/subscribe/guide.md'),
      ...problems,
    );
  },
  async archive() {
    const { eventBusArn: EventSourceArn } = (await places()).outputs;
    const { Archives = [] } = await events.send(new ListArchivesCommand({ EventSourceArn }));
    const isArchived = Archives.some(({ State }) => /^(ENABLED|UPDATING|CREATING)$/.test(State ?? ''));
    const create = `\`aws events create-archive --archive-name adverts --event-source-arn ${EventSourceArn} --retention-days 90\``;
    return judged(
      'events are archived',
      !isArchived && warning('no event is archived, so none can be replayed', create),
    );
  },
});

async function ruleProblem(
  events: EventBridgeClient,
  EventBusName: string,
  { Name, State }: Rule,
): Promise<Problem | false> {
  const rule = `--name ${Name} --event-bus-name ${EventBusName}`;
  if (State === 'DISABLED')
    return warning(`rule ${Name} is disabled: its team gets no events`, `\`aws events enable-rule ${rule}\``);
  const { Targets = [] } = await events.send(new ListTargetsByRuleCommand({ Rule: Name, EventBusName }));
  const put = `Its team gives it one: \`aws events put-targets --rule ${Name} --event-bus-name ${EventBusName} …\``;
  return Targets.length === 0 && warning(`rule ${Name} has no target`, put);
}

interface Statement {
  readonly Sid?: string;
  readonly Effect?: string;
  readonly Principal?: unknown;
  readonly Action?: string | readonly string[];
  readonly Condition?: unknown;
}

function statementProblem(
  bus: string,
  { Sid = '', Effect, Principal, Action = [], Condition }: Statement,
): Problem | false {
  if (Effect !== 'Allow') return false;
  const mend = `\`aws events remove-permission --event-bus-name ${bus} --statement-id ${Sid}\``;
  const statement = `statement ${Sid} of the bus policy`;
  const actions = [Action].flat();
  if (JSON.stringify(Principal ?? '').includes('"*"') && Condition === undefined)
    return fault(`${statement} lets every AWS account ${actions.join(', ')}`, mend);
  if (actions.some((action) => /^(\*|events:(\*|Put\*|PutEvents))$/.test(action)))
    return fault(`${statement} lets others publish in the bridge's name`, mend);
  return !ownStatements.test(Sid) && warning(`${statement} is not of the stack`, mend);
}
